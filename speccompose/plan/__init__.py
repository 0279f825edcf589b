"""Decisions: pure functions from facts to finished text, one public function per stage.

Layer: plan. Imports vocab, catalog types, checkpoint and engines; touches no machine, no clock,
no network. The same input gives the same bytes, and every choice carries its reason.

    1 detect      RawFacts -> DetectedDevice          what the texts say
    2 resolve     DetectedDevice -> ResolvedDevice    which module, which L4T, how much memory
    3 select      -> ImageRanking                     which image, and why not the others
    4 speculate   -> SpeculationPlan                  which method, how deep
    5 budget      -> MemoryPlan                       where every MiB goes
    6 assemble    -> StackPlan                        the whole stack
    7 render      -> RenderedStack                    the stack as bytes
"""
