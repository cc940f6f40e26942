import { subnetsOf48, widerKeyOf } from '#lib/kernel/network-keys.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { agentCaller, anonymousCaller, type CalledOperation, type Caller } from './actor.ts'
import { limitKeyOf } from './client-address.ts'
import type { Limiter, RateLimitWindow } from './limiter.ts'
import { challenge, type TokenLookup } from './token-lookup.ts'

type RequestClass = 'read' | 'write'
export interface RequestCredentials {
  headers: { get(name: string): string | null }
}
export interface AccessDeps {
  tokens: TokenLookup
  limiter: Limiter
  /** The person behind a session cookie, from the current state of the database; undefined if there is none. */
  session(cookie: string): Promise<Caller | undefined>
  /** Whether anonymous reading of network units is enabled. */
  anonymousReading(): Promise<boolean>
  /** Stores a 429 as evidence; returns true if this one revoked the token. */
  keepRefusal(refusal: {
    tokenId: string
    requestClass: RequestClass
    limit: number
    consumed: number
    ip: string
    windowEnds: Date
  }): Promise<boolean>
  /** Counts one request of a token, synchronously in memory. */
  countUse(tokenId: string, what: 'reads' | 'writes' | 'refused'): void
}
export type Access = ReturnType<typeof createAccess>

/** The window that decides about a request of a caller. */
export interface CountedWindow extends RateLimitWindow {
  /** The window that the caller's token exceeded by its own requests; undefined if it did not, or if there is no token. */
  violated: RateLimitWindow | undefined
}

/** Identifies callers and enforces their rate limits. */
export function createAccess(deps: AccessDeps) {
  /** Counts an IPv6 address in its /64 and also in its /48, which has 16 times the limit: a /48 contains 65,536 /64 networks. */
  async function consume(key: string, limit: number, isAddress: boolean): Promise<RateLimitWindow> {
    const wider = isAddress ? widerKeyOf(key) : undefined
    const [own, of48] = await Promise.all([
      deps.limiter.consume(key, limit),
      wider === undefined ? undefined : deps.limiter.consume(wider, limit * subnetsOf48),
    ])
    return of48 && !of48.allowed && own.allowed ? of48 : own
  }

  return {
    anonymous: async (address: string): Promise<Caller> => anonymousCaller(limitKeyOf(address), false),
    /** Counts a request by its address, for all callers together. */
    countAddress: (what: string, address: string, limit: number): Promise<RateLimitWindow> =>
      consume(`${what}:${limitKeyOf(address)}`, limit, true),
    /** Identifies the caller. An invalid token is rejected with 401 and never treated as anonymous. */
    async identify(
      request: RequestCredentials,
      address: string,
      operation: CalledOperation & Pick<OperationShape, 'isOpenToSuspended'>,
    ): Promise<Caller> {
      const authorization = request.headers.get('authorization')
      if (authorization !== null) {
        const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
        if (key === undefined)
          throw new Problem('token_invalid', {
            detail: 'Send it as "Authorization: Bearer kp_…".',
            headers: challenge('invalid_request'),
          })
        return agentCaller(await deps.tokens.find(key, operation), operation)
      }
      const cookie = request.headers.get('cookie')
      const person = cookie === null ? undefined : await deps.session(cookie)
      if (person) return person
      // Queried only for read permissions: the liveness check must not depend on the database.
      const mayRead = operation.permission.endsWith(':read') && (await deps.anonymousReading())
      return anonymousCaller(limitKeyOf(address), mayRead)
    },
    async count(caller: Caller, requestClass: RequestClass): Promise<CountedWindow> {
      const limit = requestClass === 'read' ? caller.reads : caller.writes
      const { tokenId } = caller.actor
      // In a shared window, other agents may have sent the requests. The token's own requests are counted in addition.
      const [window, own] = await Promise.all([
        consume(`${caller.limitKey}:${requestClass}`, limit, caller.actor.kind === 'anonymous'),
        caller.ownLimitKey === undefined
          ? undefined
          : deps.limiter.consume(`${caller.ownLimitKey}:${requestClass}`, limit),
      ])
      if (tokenId !== undefined)
        deps.countUse(tokenId, !window.allowed ? 'refused' : requestClass === 'read' ? 'reads' : 'writes')
      const decisive = own ?? window
      return { ...window, violated: tokenId === undefined || decisive.allowed ? undefined : decisive }
    },
    /** Records an exceeded limit as evidence. Only a token's own violations count against it. A fault here must not replace the 429. */
    async recordRefusal(
      caller: Caller,
      requestClass: RequestClass,
      { violated }: CountedWindow,
      ip: string,
    ): Promise<boolean> {
      const { tokenId } = caller.actor
      if (tokenId === undefined || violated === undefined) return false
      const { limit, consumed, resetAt } = violated
      return deps.keepRefusal({ tokenId, requestClass, limit, consumed, ip, windowEnds: resetAt })
    },
    limiter: deps.limiter,
  }
}
