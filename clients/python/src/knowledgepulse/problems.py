"""What the registry refuses. Decide by `code`, or by the class: each code has its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RegistryProblem(Exception):
    """A problem document of the registry (RFC 9457)."""

    def __init__(self, document: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(document.get("detail") or document.get("title") or "The registry refused the request.")
        self.document = document
        self.code: str = document["code"]
        self.status: int = document.get("status", 0)
        # Fields that are not valid, each with `path` and `message`.
        self.issues: list[dict[str, Any]] = document.get("issues") or []
        # Names the request in the log of the registry.
        self.request_id: str | None = document.get("instance")
        # Seconds until a retry is useful.
        self.retry_after = retry_after


class RegistryUnreachable(Exception):
    """No response arrived: the connection failed, or the time limit passed. A POST may have had its effect."""


class MalformedJson(RegistryProblem):
    pass


class BadRequest(RegistryProblem):
    pass


class TokenMissing(RegistryProblem):
    pass


class TokenInvalid(RegistryProblem):
    pass


class TokenExpired(RegistryProblem):
    pass


class TokenRevoked(RegistryProblem):
    pass


class TokenSuspended(RegistryProblem):
    pass


class SignInNeeded(RegistryProblem):
    pass


class Forbidden(RegistryProblem):
    pass


class StepUpRequired(RegistryProblem):
    pass


class SecondFactorRequired(RegistryProblem):
    pass


class ApprovalRequired(RegistryProblem):
    pass


class ScopeTooSmall(RegistryProblem):
    pass


class CrossSite(RegistryProblem):
    pass


class Misdirected(RegistryProblem):
    pass


class RegistrationClosed(RegistryProblem):
    pass


class Restricted(RegistryProblem):
    pass


class Paused(RegistryProblem):
    pass


class Retired(RegistryProblem):
    pass


class NotFound(RegistryProblem):
    pass


class MethodNotAllowed(RegistryProblem):
    pass


class TooSlow(RegistryProblem):
    pass


class Conflict(RegistryProblem):
    pass


class IdInUse(RegistryProblem):
    pass


class Held(RegistryProblem):
    pass


class Fenced(RegistryProblem):
    pass


class NotStuck(RegistryProblem):
    pass


class CannotCancel(RegistryProblem):
    pass


class WrongState(RegistryProblem):
    pass


class IdempotencyInProgress(RegistryProblem):
    pass


class Erased(RegistryProblem):
    pass


class Expired(RegistryProblem):
    pass


class LinkSpent(RegistryProblem):
    pass


class PreconditionFailed(RegistryProblem):
    pass


class TooLarge(RegistryProblem):
    pass


class UnsupportedMediaType(RegistryProblem):
    pass


class Invalid(RegistryProblem):
    pass


class OutsideRegion(RegistryProblem):
    pass


class ContentRejected(RegistryProblem):
    pass


class ContentBlocked(RegistryProblem):
    pass


class BatchRejected(RegistryProblem):
    pass


class IdempotencyMismatch(RegistryProblem):
    pass


class RateLimited(RegistryProblem):
    pass


class QuotaExceeded(RegistryProblem):
    pass


class HeadersTooLarge(RegistryProblem):
    pass


class Internal(RegistryProblem):
    pass


class Unavailable(RegistryProblem):
    pass


problem_classes: Mapping[str, type[RegistryProblem]] = {
    "malformed_json": MalformedJson,
    "bad_request": BadRequest,
    "token_missing": TokenMissing,
    "token_invalid": TokenInvalid,
    "token_expired": TokenExpired,
    "token_revoked": TokenRevoked,
    "token_suspended": TokenSuspended,
    "sign_in_needed": SignInNeeded,
    "forbidden": Forbidden,
    "step_up_required": StepUpRequired,
    "second_factor_required": SecondFactorRequired,
    "approval_required": ApprovalRequired,
    "scope_too_small": ScopeTooSmall,
    "cross_site": CrossSite,
    "misdirected": Misdirected,
    "registration_closed": RegistrationClosed,
    "restricted": Restricted,
    "paused": Paused,
    "dead": Retired,
    "not_found": NotFound,
    "method_not_allowed": MethodNotAllowed,
    "too_slow": TooSlow,
    "conflict": Conflict,
    "id_in_use": IdInUse,
    "held": Held,
    "fenced": Fenced,
    "not_stuck": NotStuck,
    "cannot_cancel": CannotCancel,
    "wrong_state": WrongState,
    "idempotency_in_progress": IdempotencyInProgress,
    "erased": Erased,
    "expired": Expired,
    "link_spent": LinkSpent,
    "precondition_failed": PreconditionFailed,
    "too_large": TooLarge,
    "unsupported_media_type": UnsupportedMediaType,
    "invalid": Invalid,
    "outside_region": OutsideRegion,
    "content_rejected": ContentRejected,
    "content_blocked": ContentBlocked,
    "batch_rejected": BatchRejected,
    "idempotency_mismatch": IdempotencyMismatch,
    "rate_limited": RateLimited,
    "quota_exceeded": QuotaExceeded,
    "headers_too_large": HeadersTooLarge,
    "internal": Internal,
    "unavailable": Unavailable,
}
"""The class of each code."""
