import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import type { SearchParams } from 'nuqs/server'
import { InviteMember } from '#components/accounts/invite-member.tsx'
import { MemberList } from '#components/accounts/member-list.tsx'
import { loadMemberFilters, memberQuery } from '#components/accounts/user-filters.ts'
import { Words } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('members'))('name') })

export default async function MembersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const person = await opened('members')
  const filters = await loadMemberFilters(searchParams)
  const query = memberQuery(filters)
  const [t, members, all] = await Promise.all([
    getTranslations('members'),
    ask(app.accounts.members, { query }),
    ask(app.accounts.members, { query: { limit: '1' } }),
  ])
  const organisation = person.organisation.name
  return (
    <Words of={['members', 'invitation']}>
      <Page width="wide" title={t('title', { organisation, total: all.total })} lead={<p>{t('lead')}</p>}>
        <InviteMember organisation={organisation} />
        <MemberList initial={members} asked={filters} me={person.account_id} />
      </Page>
    </Words>
  )
}
