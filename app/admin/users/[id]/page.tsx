import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { PersonData, PersonFacts } from '#components/accounts/person-data.tsx'
import { StateTags } from '#components/accounts/state-tags.tsx'
import { UserAccess } from '#components/accounts/user-access.tsx'
import { UserFacts } from '#components/accounts/user-facts.tsx'
import { UserNotice } from '#components/accounts/user-notice.tsx'
import { UserRole } from '#components/accounts/user-role.tsx'
import { Messages } from '#components/frame/words.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { CopyLink } from '#components/ui/copy-link.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
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
  const [t, u, user] = await Promise.all([
    getTranslations('users'),
    getTranslations('users.user'),
    found(decodeURIComponent(id)),
  ])
  const [{ data }, requests] = await Promise.all([
    callUseCase(app.console.person, { params: { id: user.account_id } }),
    callUseCase(app.requests.listAll, { query: { q: user.account_id, sort: 'received', limit: '10' } }),
  ])
  const isSelf = person.account_id === user.account_id
  return (
    <Messages of={['users', 'roles', 'invitation', 'secondFactors']}>
      <Page
        title={user.name}
        status={<StateTags states={user.states} />}
        summary={user.email}
        breadcrumbs={[{ href: '/admin/users', title: t('name') }]}
        actions={
          <>
            <ButtonLink href={`/admin/audit?resource_id=${user.account_id}`} tone="plain">
              {u('evidence')}
            </ButtonLink>
            <ButtonLink href={`/admin/requests/new?account_id=${user.account_id}`} tone="plain">
              {u('file')}
            </ButtonLink>
            <ButtonLink href={`/admin/holds?account=${user.account_id}`} tone="plain">
              {u('hold')}
            </ButtonLink>
          </>
        }
        aside={
          <>
            <Card title={u('facts')}>
              <UserFacts user={user} />
            </Card>
            <PersonFacts data={data} />
            <p>
              <CopyLink />
            </p>
          </>
        }
      >
        <UserNotice user={user} isSelf={isSelf} />
        <PersonData data={data} requests={requests} accountId={user.account_id} />
        <Section id="access" title={u('access')}>
          <UserAccess user={user} isSelf={isSelf} />
        </Section>
        {!isSelf && !user.is_last_admin && (
          <Section id="role" title={u('roleTitle')}>
            <UserRole id={user.account_id} name={user.name} role={user.role} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
