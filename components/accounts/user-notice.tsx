import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'

/** Why some actions are not available for this account. */
export function UserNotice({ user, isSelf }: { user: UserDetail; isSelf: boolean }) {
  const t = useTranslations('users.user')
  const which = isSelf ? 'self' : user.is_last_admin ? 'last' : undefined
  return (
    <>
      {user.states.includes('erasing') && (
        <Alert tone="warning" title={t('erasing')}>
          <p>{t('erasingText')}</p>
        </Alert>
      )}
      {which && (
        <Alert title={t(which)}>
          <p>{t(`${which}Text`)}</p>
        </Alert>
      )}
    </>
  )
}
