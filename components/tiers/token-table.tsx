'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiBatch } from '#components/frame/api-batch.ts'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { OutcomeList } from '#components/ui/outcome-list.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { DataTable } from '#components/ui/table.tsx'
import { isValidState } from '#lib/domains/tokens/rules.ts'
import { ofTokens, revokeAnyTokenAt } from './endpoints.ts'
import { type AgentToken, type TokenTableOptions, useTokenColumns } from './token-columns.tsx'

const isRevocable = ({ state }: AgentToken) => isValidState(state)

interface TokenTableProps extends TokenTableOptions {
  tokens: readonly AgentToken[]
}
/** The tokens of an agent. One or several can be revoked; each has its own outcome. */
export function TokenTable({ tokens, ...options }: TokenTableProps) {
  const t = useTranslations('tiers.agent')
  const revocation = useTranslations('tokens.revocation')
  const [asked, setAsked] = useState<readonly AgentToken[]>([])
  const batch = useApiBatch(revokeAnyTokenAt, ({ id }: AgentToken) => ({ params: { id } }), { touches: ofTokens })
  const active = tokens.filter(isRevocable)
  const ended = tokens.filter((token) => !isRevocable(token))
  const selection = useSelection(active.map(({ id }) => id))
  const chosen = active.filter(({ id }) => selection.chosen.has(id))
  const done = batch.outcomes.filter(({ problem }) => problem === undefined).length
  const ask = (next: readonly AgentToken[]) => {
    batch.reset()
    setAsked(next)
  }
  const columns = useTokenColumns(
    (token) =>
      isRevocable(token) && (
        <Button
          tone="plain"
          size="small"
          aria-label={t('revokeNamed', { token: token.key_prefix })}
          onClick={() => ask([token])}
        >
          {t('revoke')}
        </Button>
      ),
    options,
  )
  return (
    <>
      {!batch.isPending && batch.outcomes.length > 0 && (
        <OutcomeList
          title={t('revokedAll', { done, total: batch.outcomes.length })}
          done={t('revoked')}
          outcomes={batch.outcomes.map(({ item, problem }) => ({ key: item.id, name: `${item.key_prefix}…`, problem }))}
        />
      )}
      <DataTable
        label={t('tokens')}
        columns={columns}
        rows={active}
        rowKey={({ id }) => id}
        rowName={({ key_prefix }) => key_prefix}
        selection={selection}
        empty={
          <EmptyState title={t('noTokens')}>
            <p>{t('noTokensText')}</p>
          </EmptyState>
        }
        bulk={
          <BulkBar count={chosen.length} onClear={selection.clear}>
            <Button tone="danger" size="small" onClick={() => ask(chosen)}>
              {revocation('action', { count: chosen.length })}
            </Button>
          </BulkBar>
        }
      />
      {ended.length > 0 && (
        <details>
          <summary className="cursor-pointer py-0.5 text-quiet">{t('ended', { count: ended.length })}</summary>
          <DataTable
            label={t('ended', { count: ended.length })}
            columns={columns}
            rows={ended}
            rowKey={({ id }) => id}
          />
        </details>
      )}
      <Confirm
        open={asked.length > 0}
        onOpenChange={(open) => !open && setAsked([])}
        title={revocation('title', { count: asked.length, name: `${asked[0]?.key_prefix ?? ''}…` })}
        consequences={<p>{revocation('text')}</p>}
        action={revocation('action', { count: asked.length })}
        change={{ isPending: batch.isPending, problem: undefined, reset: () => {} }}
        onConfirm={() =>
          batch.begin(asked, () => {
            setAsked([])
            selection.clear()
          })
        }
      />
    </>
  )
}
