import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { InviteUser } from '#components/accounts/invite-user.tsx'
import { loadUserFilters, userQuery } from '#components/accounts/user-filters.ts'
import { UserList } from '#components/accounts/user-list.tsx'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { app } from '#lib/app-instance.ts'
import type { AccountState } from '#lib/domains/accounts/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('users'))('name') })

const tiles = ['active', 'invited', 'deactivated', 'erasing'] as const satisfies readonly AccountState[]

export default async function UsersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const { organisation } = await requirePageAccess('users')
  const filters = await loadUserFilters(searchParams)
  const [t, users] = await Promise.all([
    getTranslations('users'),
    callUseCase(app.accounts.users, { query: userQuery(filters) }),
  ])
  return (
    <Messages of={['users', 'roles', 'invitation']}>
      <Page
        width="wide"
        title={t('name')}
        actions={<InviteUser own={{ id: organisation.organisation_id, name: organisation.name }} />}
      >
        <StatTiles
          tiles={tiles.map((state) => ({
            label: t(`stateNames.${state}`),
            value: users.counts[state],
            href: `/admin/users?state=${state}`,
          }))}
        />
        <UserList initial={users} asked={filters} />
      </Page>
    </Messages>
  )
}
