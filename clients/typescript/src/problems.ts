/** A field that is not valid. Its path begins with `query`, `params` or `headers` if it is not in the body. */
export interface Issue {
  path: (string | number)[]
  message: string
}
/** A problem document of the registry (RFC 9457). */
export interface ProblemDocument {
  title: string
  status: number
  code: string
  detail?: string
  issues?: Issue[]
  /** The request id. */
  instance?: string
  [extension: string]: unknown
}

/** Marks the errors of every copy of this package: an application may contain two, in two versions. */
const brand = Symbol.for('@knowledgepulse/client')
/** An error of another copy of this package is an instance of the class of the same kind. */
export function isBranded(value: unknown, kind: string): value is { code?: unknown } {
  return typeof value === 'object' && value !== null && Reflect.get(value, brand) === kind
}
export const branded = (error: Error, kind: string): void => {
  Object.defineProperty(error, brand, { value: kind })
}

/** The registry refused a request. Decide by `code`, or by the class: each code has its own. */
export class RegistryProblem extends Error {
  readonly code: string
  readonly status: number
  readonly issues: readonly Issue[]
  /** Names the request in the log of the registry. */
  readonly requestId: string | undefined
  /** Seconds until a retry is useful. */
  readonly retryAfter: number | undefined
  readonly document: ProblemDocument
  constructor(document: ProblemDocument, retryAfter?: number) {
    super(document.detail ?? document.title)
    branded(this, 'problem')
    this.name = new.target.name
    this.document = document
    this.code = document.code
    this.status = document.status
    this.issues = document.issues ?? []
    this.requestId = document.instance
    this.retryAfter = retryAfter
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: the class of one code inherits this method.
    const isOf = (one: unknown) => one === this
    // biome-ignore lint/complexity/noThisInStatic: as above.
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true
    return isBranded(value, 'problem') && (isOf(RegistryProblem) || isOf(problemClasses[String(value.code)]))
  }
}
/** No response arrived: the connection failed, or the time limit passed. A POST may have had its effect. */
export class RegistryUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    branded(this, 'unreachable')
    this.name = 'RegistryUnreachable'
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(RegistryUnreachable, value) || isBranded(value, 'unreachable')
  }
}

export class MalformedJson extends RegistryProblem {}
export class BadRequest extends RegistryProblem {}
export class TokenMissing extends RegistryProblem {}
export class TokenInvalid extends RegistryProblem {}
export class TokenExpired extends RegistryProblem {}
export class TokenRevoked extends RegistryProblem {}
export class TokenSuspended extends RegistryProblem {}
export class SignInNeeded extends RegistryProblem {}
export class Forbidden extends RegistryProblem {}
export class StepUpRequired extends RegistryProblem {}
export class SecondFactorRequired extends RegistryProblem {}
export class ApprovalRequired extends RegistryProblem {}
export class ScopeTooSmall extends RegistryProblem {}
export class CrossSite extends RegistryProblem {}
export class Misdirected extends RegistryProblem {}
export class RegistrationClosed extends RegistryProblem {}
export class Restricted extends RegistryProblem {}
export class Paused extends RegistryProblem {}
export class Retired extends RegistryProblem {}
export class NotFound extends RegistryProblem {}
export class MethodNotAllowed extends RegistryProblem {}
export class TooSlow extends RegistryProblem {}
export class Conflict extends RegistryProblem {}
export class IdInUse extends RegistryProblem {}
export class Held extends RegistryProblem {}
export class Fenced extends RegistryProblem {}
export class NotStuck extends RegistryProblem {}
export class CannotCancel extends RegistryProblem {}
export class WrongState extends RegistryProblem {}
export class IdempotencyInProgress extends RegistryProblem {}
export class Erased extends RegistryProblem {}
export class Expired extends RegistryProblem {}
export class LinkSpent extends RegistryProblem {}
export class PreconditionFailed extends RegistryProblem {}
export class TooLarge extends RegistryProblem {}
export class UnsupportedMediaType extends RegistryProblem {}
export class Invalid extends RegistryProblem {}
export class OutsideRegion extends RegistryProblem {}
export class ContentRejected extends RegistryProblem {}
export class ContentBlocked extends RegistryProblem {}
export class BatchRejected extends RegistryProblem {}
export class IdempotencyMismatch extends RegistryProblem {}
export class RateLimited extends RegistryProblem {}
export class QuotaExceeded extends RegistryProblem {}
export class HeadersTooLarge extends RegistryProblem {}
export class Internal extends RegistryProblem {}
export class Unavailable extends RegistryProblem {}

/** The class of each code. */
export const problemClasses: Readonly<Record<string, typeof RegistryProblem>> = {
  malformed_json: MalformedJson,
  bad_request: BadRequest,
  token_missing: TokenMissing,
  token_invalid: TokenInvalid,
  token_expired: TokenExpired,
  token_revoked: TokenRevoked,
  token_suspended: TokenSuspended,
  sign_in_needed: SignInNeeded,
  forbidden: Forbidden,
  step_up_required: StepUpRequired,
  second_factor_required: SecondFactorRequired,
  approval_required: ApprovalRequired,
  scope_too_small: ScopeTooSmall,
  cross_site: CrossSite,
  misdirected: Misdirected,
  registration_closed: RegistrationClosed,
  restricted: Restricted,
  paused: Paused,
  dead: Retired,
  not_found: NotFound,
  method_not_allowed: MethodNotAllowed,
  too_slow: TooSlow,
  conflict: Conflict,
  id_in_use: IdInUse,
  held: Held,
  fenced: Fenced,
  not_stuck: NotStuck,
  cannot_cancel: CannotCancel,
  wrong_state: WrongState,
  idempotency_in_progress: IdempotencyInProgress,
  erased: Erased,
  expired: Expired,
  link_spent: LinkSpent,
  precondition_failed: PreconditionFailed,
  too_large: TooLarge,
  unsupported_media_type: UnsupportedMediaType,
  invalid: Invalid,
  outside_region: OutsideRegion,
  content_rejected: ContentRejected,
  content_blocked: ContentBlocked,
  batch_rejected: BatchRejected,
  idempotency_mismatch: IdempotencyMismatch,
  rate_limited: RateLimited,
  quota_exceeded: QuotaExceeded,
  headers_too_large: HeadersTooLarge,
  internal: Internal,
  unavailable: Unavailable,
}
