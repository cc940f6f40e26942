import { useTranslations } from 'next-intl'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import type { AccountState } from '#lib/domains/accounts/rules.ts'

const tones: Record<AccountState, BadgeTone> = {
  invited: 'progress',
  active: 'success',
  deactivated: 'neutral',
  erasing: 'warning',
  restricted: 'warning',
}

/** The states of an account, as admins see them. */
export function StateTags({ states }: { states: readonly AccountState[] }) {
  const t = useTranslations('users.stateNames')
  return (
    <span className="flex flex-wrap gap-1">
      {states.map((state) => (
        <Badge key={state} tone={tones[state]} hasDot>
          {t(state)}
        </Badge>
      ))}
    </span>
  )
}
