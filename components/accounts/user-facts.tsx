import { useTranslations } from 'next-intl'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Time } from '#components/ui/time.tsx'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'
import { hostOf } from './issuer.ts'

/** The newest email with a link that still works. */
function EmailLink({ letter }: { letter: NonNullable<UserDetail['letter']> }) {
  const t = useTranslations('users.user')
  return t.rich('letterText', {
    purpose: letter.purpose,
    sent: () => <Time at={letter.sent_at} show="relative" />,
    until: () => <Time at={letter.expires_at} show="relative" />,
  })
}

/** What an admin sees of an account. */
export function UserFacts({ user }: { user: UserDetail }) {
  const t = useTranslations('users')
  const roleNames = useTranslations('roles.names')
  const u = useTranslations('users.user')
  const locales = useTranslations('invitation.locales')
  const ways = [
    ...(user.has_password ? [u('ways.password')] : []),
    ...user.identities.map(({ issuer }) => hostOf(issuer)),
  ]
  return (
    <FactList
      facts={[
        [t('role'), roleNames(user.role)],
        [t('organisation'), user.organisation.name],
        [u('locale'), locales(user.locale)],
        [t('since'), <Time key="since" at={user.created_at} show="relative" />],
        ...(user.deactivated_at === null
          ? []
          : [[u('closedAt'), <Time key="closed" at={user.deactivated_at} show="relative" />] as const]),
        [u('signIn'), ways.length > 0 ? ways.join(', ') : u('ways.none')],
        [u('factor'), u(user.has_second_factor ? 'factorYes' : 'factorNo')],
        [u('sessions'), user.sessions],
        [
          u('seen'),
          user.last_seen_at === null ? u('notSeen') : <Time key="seen" at={user.last_seen_at} show="relative" />,
        ],
        [u('agents'), user.agents],
        [u('requests'), user.open_requests],
        [u('letter'), user.letter === null ? u('noLetter') : <EmailLink key="letter" letter={user.letter} />],
        [u('id'), <CopyableId key="id" id={user.account_id} what={u('id')} />],
      ]}
    />
  )
}
