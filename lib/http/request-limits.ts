import type { Access } from '#lib/access/access.ts'
import type { Caller } from '#lib/access/actor.ts'
import { limitHeaders } from '#lib/access/limit-headers.ts'
import type { RateLimitWindow } from '#lib/access/limiter.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'

interface CountedRequest {
  operation: OperationShape
  requestClass: 'read' | 'write'
  address: string
  /** Receives the headers of the counted window. */
  common: Record<string, string>
}

const tooManyFrom = ({ limit }: RateLimitWindow): Problem =>
  new Problem(
    'rate_limited',
    `One network address may send ${limit.toLocaleString('en')} requests per minute. Wait, then try again.`,
  )

/** Counts requests in the rate limits of addresses and callers. */
export const requestLimits = ({
  access,
  countPage,
}: {
  access: Access
  countPage(address: string): Promise<RateLimitWindow>
}) => ({
  /** @throws Problem `rate_limited` */
  async countAddress(
    { operation, requestClass, address, common }: CountedRequest,
    perAddress: NonNullable<OperationShape['perAddress']>,
  ): Promise<void> {
    const window = await (perAddress === 'page'
      ? countPage(address)
      : access.countAddress(operation.id, address, perAddress))
    if (window.allowed) return
    Object.assign(common, limitHeaders(window, requestClass))
    throw tooManyFrom(window)
  },
  /** @throws Problem `rate_limited` */
  async countRequest({ requestClass, address, common }: CountedRequest, caller: Caller): Promise<void> {
    const window = await access.count(caller, requestClass)
    Object.assign(common, limitHeaders(window, requestClass))
    if (window.allowed) return
    const revoked = await access.recordRefusal(caller, requestClass, window, address)
    throw new Problem('rate_limited', {
      detail: `The limit is ${window.limit.toLocaleString('en')} ${requestClass}s per minute.${revoked ? ' You exceeded it three times within an hour, so this token is now revoked.' : ' Wait, then try again.'}`,
    })
  },
})
