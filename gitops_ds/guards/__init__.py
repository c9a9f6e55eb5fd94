"""What holds a plan back although it is right: limits, freezes, holds, and what people did to earlier plans.

Owns the judgement of guards as pure functions. Owns neither their fields (`intent/reconciler.py`) nor the facts.
"""

from gitops_ds.guards.judge import GUARDS, URGENT, GuardContext, Urgent, guarded, settled, urgent_trailer
from gitops_ds.intent.holding import EVERY

__all__ = ["EVERY", "GUARDS", "URGENT", "GuardContext", "Urgent", "guarded", "settled", "urgent_trailer"]
