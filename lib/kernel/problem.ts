/** Every error that the API can return: code → status and title. */
export const problems = {
  malformed_json: [400, 'The body is not valid JSON'],
  bad_request: [400, 'The request is malformed'],
  token_missing: [401, 'A token is required'],
  token_invalid: [401, 'The token is not valid'],
  token_expired: [401, 'The token has expired'],
  token_revoked: [401, 'The token was revoked'],
  token_suspended: [401, 'The token is suspended'],
  sign_in_needed: [401, 'Sign in first'],
  forbidden: [403, 'You are not allowed to do this'],
  step_up_required: [403, 'Confirm your password first'],
  second_factor_required: [403, 'Add a second factor first'],
  approval_required: [403, 'Another admin must approve this'],
  scope_too_small: [403, 'The token lacks the scope for this'],
  cross_site: [403, 'The request came from another site'],
  misdirected: [421, 'This server does not serve this host'],
  registration_closed: [403, 'Registration is closed'],
  restricted: [403, 'Processing is restricted'],
  paused: [403, 'The agent is paused'],
  dead: [403, 'The agent is retired'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'This resource does not support this method'],
  too_slow: [408, 'The request did not arrive in time'],
  conflict: [409, 'The request conflicts with existing data'],
  id_in_use: [409, 'The id is already in use'],
  held: [409, 'A legal hold covers this data'],
  fenced: [409, 'This data is being erased'],
  not_stuck: [409, 'The erasure is still running'],
  cannot_cancel: [409, 'The erasure can no longer be cancelled'],
  wrong_state: [409, 'The current state does not allow this'],
  idempotency_in_progress: [409, 'The same request is still running'],
  erased: [410, 'Erased'],
  expired: [410, 'The resource has expired'],
  link_spent: [410, 'The link is no longer valid'],
  precondition_failed: [412, 'The resource has changed since you read it'],
  too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'This media type is not supported'],
  invalid: [422, 'The request is not valid'],
  outside_region: [422, 'A resource is outside the required region'],
  content_rejected: [422, 'The content was rejected'],
  content_blocked: [422, 'The content contains data that must not be stored'],
  batch_rejected: [422, 'At least one item was rejected, so no item was stored'],
  idempotency_mismatch: [422, 'The idempotency key was used for another request'],
  rate_limited: [429, 'Too many requests'],
  quota_exceeded: [429, 'A quota is exceeded'],
  headers_too_large: [431, 'The URL and the headers are too large'],
  internal: [500, 'Something went wrong on our side'],
  unavailable: [503, 'A required service is unavailable'],
} as const satisfies Record<string, readonly [number, string]>

export type ProblemCode = keyof typeof problems
export interface Issue {
  path: (string | number)[]
  message: string
}
export interface ProblemOptions {
  detail?: string
  /** Overrides the status of the code: `quota_exceeded` is 413 for stored content, and 429 for exports per day. */
  status?: 413
  issues?: Issue[]
  headers?: Record<string, string>
  /** Further members of the problem document (RFC 9457 §3.2). */
  extensions?: Record<string, unknown>
  cause?: unknown
  /** Work that must persist although the mutation was rolled back. It runs after the rollback, outside the transaction. */
  afterRollback?: () => Promise<unknown>
}

const brand = Symbol.for('knowledgepulse.problem')

/**
 * An expected error. It can be thrown anywhere, and the HTTP layer turns it into an RFC 9457 response. `detail` never contains content.
 * Test for it with {@link Problem.is}, not `instanceof`: API server and pages may each have loaded their own copy of this file.
 */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly issues: Issue[] | undefined
  readonly headers: Record<string, string>
  readonly extensions: Record<string, unknown>
  readonly afterRollback: (() => Promise<unknown>) | undefined
  readonly [brand] = true

  constructor(code: ProblemCode, options: ProblemOptions | string = {}) {
    const {
      detail,
      status: own,
      issues,
      headers,
      extensions,
      cause,
      afterRollback,
    } = typeof options === 'string' ? ({ detail: options } as ProblemOptions) : options
    const [status, title] = problems[code]
    super(detail ?? title, cause === undefined ? {} : { cause })
    this.name = 'Problem'
    this.code = code
    this.status = own ?? status
    this.title = title
    this.detail = detail
    this.issues = issues
    this.headers = headers ?? {}
    this.extensions = extensions ?? {}
    this.afterRollback = afterRollback
  }

  /** Whether the error is a problem, with one of the codes if any are given. */
  static is(error: unknown, ...codes: ProblemCode[]): error is Problem {
    if (typeof error !== 'object' || error === null || !(brand in error)) return false
    return codes.length === 0 || codes.includes((error as Problem).code)
  }

  /** The RFC 9457 document. `type` links to the explanation of the code on this installation. */
  toJSON(): Record<string, unknown> {
    return {
      type: `/docs/api#${this.code}`,
      title: this.title,
      status: this.status,
      ...(this.detail !== undefined && { detail: this.detail }),
      code: this.code,
      ...(this.issues && { issues: this.issues }),
      ...this.extensions,
    }
  }
}

/** One field is not valid. Outside the body, its path begins with the part of the request: `query`, `params` or `headers`. */
export const invalid = (path: (string | number)[], message: string): Problem =>
  new Problem('invalid', { detail: 'One field is not valid.', issues: [{ path, message }] })
