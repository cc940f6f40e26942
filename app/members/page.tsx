import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { InviteMember } from '#components/accounts/invite-member.tsx'
import { OrganisationMemberList } from '#components/accounts/member-list.tsx'
import { loadMemberFilters, memberQuery } from '#components/accounts/user-filters.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('members'))('name') })

export default async function MembersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const person = await requirePageAccess('members')
  const filters = await loadMemberFilters(searchParams)
  const query = memberQuery(filters)
  const [t, members] = await Promise.all([getTranslations('members'), callUseCase(app.accounts.members, { query })])
  const organisation = person.organisation.name
  return (
    <Messages of={['members', 'roles', 'invitation']}>
      <Page
        width="wide"
        title={t('name')}
        count={members.total}
        summary={t('lead', { name: organisation })}
        actions={<InviteMember organisation={organisation} />}
      >
        <OrganisationMemberList initial={members} asked={filters} me={person.account_id} />
      </Page>
    </Messages>
  )
}
