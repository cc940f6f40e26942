import { createHmac, timingSafeEqual } from 'node:crypto'
import { type EmailKind, emailKinds } from './rules.ts'

export interface UnsubscribeTarget {
  accountId: string
  kinds: EmailKind[]
}

/**
 * Links that turn off emails. The token contains the account's id, the kinds and an HMAC, so nothing is stored, and the link works as
 * long as the account and the installation's secret exist.
 */
export function unsubscribeLinks(key: () => Uint8Array) {
  const macOf = (content: string) => createHmac('sha256', key()).update(content).digest()
  return {
    tokenFor({ accountId, kinds }: UnsubscribeTarget): string {
      const content = Buffer.from(`${accountId} ${kinds.join(' ')}`).toString('base64url')
      return `${content}.${macOf(content).toString('base64url')}`
    },
    /** Undefined for a token that is not ours. */
    targetOf(token: string): UnsubscribeTarget | undefined {
      const [content = '', given = '', ...more] = token.split('.')
      const [expected, sent] = [macOf(content), Buffer.from(given, 'base64url')]
      if (more.length > 0 || sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined
      const [accountId = '', ...names] = Buffer.from(content, 'base64url').toString('utf8').split(' ')
      return { accountId, kinds: emailKinds.filter((kind) => names.includes(kind)) }
    },
  }
}
export type UnsubscribeLinks = ReturnType<typeof unsubscribeLinks>
