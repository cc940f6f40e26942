import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { hostOf } from '#components/accounts/issuer.ts'
import { StateTags } from '#components/accounts/state-tags.tsx'
import { UserAccess } from '#components/accounts/user-access.tsx'
import { UserRole } from '#components/accounts/user-role.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import type { UserDetail } from '#lib/domains/accounts/users-contract.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('users.user'))('name'),
})

/** The account; renders the 404 page when it does not exist or the id is invalid. */
async function found(id: string): Promise<UserDetail> {
  try {
    return (await callUseCase(app.accounts.user, { params: { id } })).data
  } catch (error) {
    if (Problem.is(error) && (error.status === 404 || error.status === 422)) notFound()
    throw error
  }
}

export default async function UserPage({ params }: { params: Promise<{ id: string }> }) {
  const person = await requirePageAccess('user')
  const { id } = await params
  const [t, u, locales, user] = await Promise.all([
    getTranslations('users'),
    getTranslations('users.user'),
    getTranslations('invitation.locales'),
    found(decodeURIComponent(id)),
  ])
  const isSelf = person.account_id === user.account_id
  const isErasing = user.states.includes('erasing')
  const state = (['erasing', 'deactivated', 'invited'] as const).find((one) => user.states.includes(one)) ?? 'active'
  const ways = [
    ...(user.has_password ? [u('ways.password')] : []),
    ...user.identities.map(({ issuer }) => hostOf(issuer)),
  ]
  return (
    <Messages of={['users', 'invitation']}>
      <Page
        title={u('title', { name: user.name, state })}
        lead={
          <p>
            <TextLink href="/admin/users">{u('back')}</TextLink>
          </p>
        }
      >
        <Section id="account" title={u('facts')}>
          <FactList
            facts={[
              [u('email'), user.email],
              [u('role'), t(`roles.${user.role}`)],
              [t('states'), <StateTags key="states" states={user.states} />],
              [u('organisation'), user.organisation.name],
              [u('locale'), locales(user.locale)],
              [u('since'), <Time key="since" at={user.created_at} />],
              ...(user.deactivated_at === null
                ? []
                : [[u('closedAt'), <Time key="closed" at={user.deactivated_at} />] as const]),
              [u('signIn'), ways.length > 0 ? ways.join(', ') : u('ways.none')],
              [u('sessions'), user.sessions],
              [
                u('seen'),
                user.last_seen_at === null ? u('notSeen') : <Time key="seen" at={user.last_seen_at} relative />,
              ],
              [u('agents'), user.agents],
              [u('requests'), user.open_requests],
              [
                u('letter'),
                user.letter === null
                  ? u('noLetter')
                  : u.rich('letterText', {
                      purpose: user.letter.purpose,
                      sent: () => <Time key="sent" at={user.letter?.sent_at ?? ''} />,
                      until: () => <Time key="until" at={user.letter?.expires_at ?? ''} relative />,
                    }),
              ],
              [u('id'), <ShortId key="id" id={user.account_id} what={u('id')} />],
            ]}
          />
          <p className="flex flex-wrap gap-2">
            <ButtonLink href={`/admin/requests/new?account_id=${user.account_id}`} tone="plain" size="small">
              {u('file')}
            </ButtonLink>
            <ButtonLink href={`/admin/audit?resource_id=${user.account_id}`} tone="plain" size="small">
              {u('evidence')}
            </ButtonLink>
          </p>
        </Section>
        {isErasing && (
          <Alert tone="warning" title={u('erasing')}>
            <p>{u('erasingText')}</p>
          </Alert>
        )}
        {isSelf ? (
          <Alert title={u('self')}>
            <p>{u('selfText')}</p>
          </Alert>
        ) : (
          user.is_last_admin && (
            <Alert title={u('last')}>
              <p>{u('lastText')}</p>
            </Alert>
          )
        )}
        <Section id="access" title={u('access')} lead={u('accessLead')}>
          <UserAccess user={user} isSelf={isSelf} />
        </Section>
        {!isSelf && !user.is_last_admin && (
          <Section id="role" title={u('roleTitle')} lead={u('roleLead')}>
            <UserRole id={user.account_id} name={user.name} role={user.role} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
