import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { CreateToken } from '#components/tokens/create-token.tsx'
import { loadTokenFilters, tokenQueryOf } from '#components/tokens/filters.ts'
import { TokenList } from '#components/tokens/token-list.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('tokens'))('name') })

export default async function TokensPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const me = await requirePageAccess('tokens')
  const [t, filters, agents] = await Promise.all([
    getTranslations('tokens'),
    loadTokenFilters(searchParams),
    callUseCase(app.agents.listOwn, { query: { limit: '100' } }),
  ])
  const own = agents.data.map(({ agent_id, name, holds, token_limit }) => ({
    id: agent_id,
    name,
    used: holds.tokens,
    most: token_limit,
  }))
  const tokens = await callUseCase(app.tokens.list, {
    query: tokenQueryOf(
      filters,
      own.map(({ id }) => id),
    ),
  })
  return (
    <Messages of={['tokens', 'agents']}>
      <Page
        width="wide"
        title={t('name')}
        summary={agents.total > own.length && <p>{t('newest', { count: own.length })}</p>}
        actions={<CreateToken agents={own} isAdmin={me.role === 'admin'} />}
        lead={
          <p>
            {t('lead', {
              free: tierLimits.free.tokens,
              pro: tierLimits.pro.tokens,
              enterprise: tierLimits.enterprise.tokens,
            })}
          </p>
        }
      >
        {own.length === 0 ? (
          <EmptyState title={t('noAgents')} action={<ButtonLink href="/agents">{t('toAgents')}</ButtonLink>}>
            {t('noAgentsText')}
          </EmptyState>
        ) : (
          <TokenList initial={tokens} initialFilters={filters} agents={own} />
        )}
      </Page>
    </Messages>
  )
}
