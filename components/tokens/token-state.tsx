import { useTranslations } from 'next-intl'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import { Time } from '#components/ui/time.tsx'
import { type ListedTokenRow, shownTokenState } from './tokens.ts'

export const tokenTones: Record<ReturnType<typeof shownTokenState>, BadgeTone> = {
  active: 'success',
  rotated: 'warning',
  suspended: 'warning',
  expired: 'neutral',
  revoked: 'neutral',
}

const revocationReasons = [
  'owner',
  'admin',
  'rotation',
  'rate_limit',
  'claim',
  'owner_role',
  'owner_closed',
  'issuer_revoked',
  'consent_withdrawn',
] as const

/** Why a token was revoked, in words; `owner` is how the reader calls the owner. */
export function useRevocationReason(owner: string) {
  const t = useTranslations('tokens.reasons')
  return (reason: string | null): string => {
    const known = revocationReasons.find((one) => one === reason)
    if (known === undefined) return t('other', { reason: reason ?? '' })
    return known === 'owner' ? owner : t(known)
  }
}

/** The state of a token, why it was revoked, and the refused requests if they caused it. */
export function TokenState({ token }: { token: ListedTokenRow }) {
  const t = useTranslations('tokens')
  const { revoked_at: at, revoked_reason: reason, refusals } = token
  const state = shownTokenState(token.state, token.is_suspended)
  const wordsOf = useRevocationReason(t('byYou'))
  return (
    <div className="grid justify-items-start gap-1">
      <Badge tone={tokenTones[state]} hasDot>
        {t(`states.${state}`)}
      </Badge>
      {token.issued_by_admin && <Badge>{t('issuedByAdmin')}</Badge>}
      {token.issued_by_token_id !== null && <Badge>{t('issuedByToken')}</Badge>}
      {at !== null && (
        <span className="text-quiet">
          {t.rich('revokedAt', {
            time: () => <Time at={at} />,
            reason: wordsOf(reason),
          })}
        </span>
      )}
      {reason === 'rate_limit' &&
        (refusals.length === 0 ? (
          <span className="text-quiet">{t('evidenceGone')}</span>
        ) : (
          <details>
            <summary className="cursor-pointer text-accent">{t('evidence')}</summary>
            <ul className="mt-1 list-disc pl-5 text-quiet">
              {refusals.map((refusal) => (
                <li key={refusal.at + refusal.class}>
                  {t.rich('evidenceLine', {
                    time: () => <Time at={refusal.at} />,
                    class: refusal.class,
                    consumed: refusal.consumed,
                    limit: refusal.limit,
                  })}
                </li>
              ))}
            </ul>
          </details>
        ))}
    </div>
  )
}
