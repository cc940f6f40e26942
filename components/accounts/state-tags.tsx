import { useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import type { AccountState } from '#lib/domains/accounts/rules.ts'

const tones: Record<AccountState, TagTone> = {
  invited: 'accent',
  active: 'plain',
  deactivated: 'amber',
  erasing: 'amber',
  restricted: 'amber',
}

/** The states of an account, as admins see them. */
export function StateTags({ states }: { states: readonly AccountState[] }) {
  const t = useTranslations('users.stateNames')
  return (
    <span className="flex flex-wrap gap-1">
      {states.map((state) => (
        <Tag key={state} tone={tones[state]}>
          {t(state)}
        </Tag>
      ))}
    </span>
  )
}
