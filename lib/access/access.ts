import { subnetsOf48, widerKeyOf } from '#lib/kernel/network-keys.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { agentCaller, anonymousCaller, type Caller } from './actor.ts'
import { limitKeyOf } from './client-address.ts'
import type { Limiter, Window } from './limiter.ts'
import { challenge, type TokenLookup } from './token-lookup.ts'

type RequestClass = 'read' | 'write'
export interface Credentials {
  headers: { get(name: string): string | null }
}
export interface AccessParts {
  tokens: TokenLookup
  limiter: Limiter
  /** The person behind a session cookie, as the database has it now; undefined when there is none. */
  session(cookie: string): Promise<Caller | undefined>
  /** Whether anonymous reading of network units is switched on. */
  anonymousReading(): Promise<boolean>
  /** Keeps a 429 as evidence; true when it was the one that revokes. */
  keepRefusal(refusal: {
    tokenId: string
    requestClass: RequestClass
    limit: number
    consumed: number
    ip: string
  }): Promise<boolean>
  /** Counts one request of a token, in memory and at once. */
  countUse(tokenId: string, what: 'reads' | 'writes' | 'refused'): void
}
export type Access = ReturnType<typeof createAccess>

/** Who is calling, and how often they may. */
export function createAccess(parts: AccessParts) {
  /** An address of IPv6 counts in its /64, and in its /48, which has the limit of 16 of them: the holder of a /48 has 65,536 of the former. */
  async function consume(key: string, limit: number, isAddress: boolean): Promise<Window> {
    const wider = isAddress ? widerKeyOf(key) : undefined
    const [own, of48] = await Promise.all([
      parts.limiter.consume(key, limit),
      wider === undefined ? undefined : parts.limiter.consume(wider, limit * subnetsOf48),
    ])
    return of48 && !of48.allowed && own.allowed ? of48 : own
  }

  return {
    anonymous: async (address: string): Promise<Caller> => anonymousCaller(limitKeyOf(address), false),
    /** Counts a request of whoever it is, by its address. */
    countAddress: (what: string, address: string, limit: number): Promise<Window> =>
      consume(`${what}:${limitKeyOf(address)}`, limit, true),
    /** A token that is given and not good is a 401, never anonymous. */
    async identify(
      request: Credentials,
      address: string,
      operation: Pick<OperationShape, 'permission' | 'isOpenToSuspended'>,
    ): Promise<Caller> {
      const authorization = request.headers.get('authorization')
      if (authorization !== null) {
        const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
        if (key === undefined)
          throw new Problem('token_invalid', {
            detail: 'Send it as "Authorization: Bearer kp_…".',
            headers: challenge('invalid_request'),
          })
        return agentCaller(await parts.tokens.find(key, operation))
      }
      const cookie = request.headers.get('cookie')
      const person = cookie === null ? undefined : await parts.session(cookie)
      if (person) return person
      // Asked only where it matters: whether the process is alive must not hang on the database.
      const mayRead = operation.permission.endsWith(':read') && (await parts.anonymousReading())
      return anonymousCaller(limitKeyOf(address), mayRead)
    },
    async count(caller: Caller, requestClass: RequestClass): Promise<Window> {
      const limit = requestClass === 'read' ? caller.reads : caller.writes
      const window = await consume(`${caller.limitKey}:${requestClass}`, limit, caller.actor.kind === 'anonymous')
      const { tokenId } = caller.actor
      if (tokenId !== undefined)
        parts.countUse(tokenId, !window.allowed ? 'refused' : requestClass === 'read' ? 'reads' : 'writes')
      return window
    },
    /** Only a token's own refusals count against it. The evidence must not cost the caller their answer. */
    async recordRefusal(caller: Caller, requestClass: RequestClass, window: Window, ip: string): Promise<boolean> {
      const { tokenId } = caller.actor
      if (tokenId === undefined || caller.isWindowShared) return false
      return parts.keepRefusal({ tokenId, requestClass, limit: window.limit, consumed: window.consumed, ip })
    },
    limiter: parts.limiter,
  }
}
