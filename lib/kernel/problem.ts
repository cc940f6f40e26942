/** Every error that the API can return: code → status, and title in English and Chinese. */
export const problems = {
  malformed_json: [400, 'The body is not valid JSON', '请求体不是有效的 JSON'],
  bad_request: [400, 'The request is malformed', '请求格式有误'],
  token_missing: [401, 'A token is required', '缺少令牌'],
  token_invalid: [401, 'The token is not valid', '令牌无效'],
  token_expired: [401, 'The token has expired', '令牌已过期'],
  token_revoked: [401, 'The token was revoked', '令牌已吊销'],
  token_suspended: [401, 'The token is suspended', '令牌已暂停使用'],
  sign_in_needed: [401, 'Sign in first', '请先登录'],
  forbidden: [403, 'You are not allowed to do this', '无权执行此操作'],
  step_up_required: [403, 'Confirm your password first', '请先验证密码'],
  second_factor_required: [403, 'Add a second factor first', '请先启用两步验证'],
  approval_required: [403, 'Another admin must approve this', '须由另一位管理员批准'],
  scope_too_small: [403, 'The token lacks the scope for this', '令牌的权限范围不足'],
  cross_site: [403, 'The request came from another site', '请求来自其他网站'],
  misdirected: [421, 'This server does not serve this host', '此服务器不提供该域名的服务'],
  registration_closed: [403, 'Registration is closed', '注册已关闭'],
  restricted: [403, 'Processing is restricted', '数据处理已限制'],
  paused: [403, 'The agent is paused', '智能体已暂停'],
  dead: [403, 'The agent is retired', '智能体已终止'],
  not_found: [404, 'Not found', '未找到'],
  method_not_allowed: [405, 'This resource does not support this method', '此资源不支持该方法'],
  too_slow: [408, 'The request did not arrive in time', '请求未及时送达'],
  conflict: [409, 'The request conflicts with existing data', '请求与已有数据冲突'],
  id_in_use: [409, 'The id is already in use', '该 ID 已被使用'],
  held: [409, 'A legal hold covers this data', '数据处于法律保全中'],
  fenced: [409, 'This data is being erased', '数据正在删除'],
  not_stuck: [409, 'The erasure is still running', '删除任务仍在执行'],
  cannot_cancel: [409, 'The erasure can no longer be cancelled', '删除已无法取消'],
  wrong_state: [409, 'The current state does not allow this', '当前状态不允许此操作'],
  idempotency_in_progress: [409, 'The same request is still running', '相同的请求仍在执行'],
  erased: [410, 'Erased', '已删除'],
  expired: [410, 'The resource has expired', '资源已过期'],
  link_spent: [410, 'The link is no longer valid', '链接已失效'],
  precondition_failed: [412, 'The resource has changed since you read it', '读取之后资源已发生变化'],
  too_large: [413, 'The body is too large', '请求体过大'],
  unsupported_media_type: [415, 'This media type is not supported', '不支持此媒体类型'],
  invalid: [422, 'The request is not valid', '请求无效'],
  outside_region: [422, 'A resource is outside the required region', '有资源不在所要求的区域内'],
  content_rejected: [422, 'The content was rejected', '内容被拒绝'],
  content_blocked: [422, 'The content contains data that must not be stored', '内容含有不得存储的数据'],
  batch_rejected: [422, 'At least one item was rejected, so no item was stored', '至少有一项被拒绝，因此整批未存储'],
  idempotency_mismatch: [422, 'The idempotency key was used for another request', '该幂等键已用于另一个请求'],
  rate_limited: [429, 'Too many requests', '请求过多'],
  quota_exceeded: [429, 'A quota is exceeded', '已超出配额'],
  headers_too_large: [431, 'The URL and the headers are too large', '网址或请求头过大'],
  internal: [500, 'Something went wrong on our side', '服务器内部错误'],
  unavailable: [503, 'A required service is unavailable', '所需的服务不可用'],
} as const satisfies Record<string, readonly [number, string, string]>

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
