'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiBatch } from '#components/frame/api-batch.ts'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { OutcomeList } from '#components/ui/outcome-list.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { type QuarantinedItem, reviewAt } from './endpoints.ts'
import type { Decision } from './quarantined-item.tsx'

const decisions = ['release', 'keep'] as const satisfies readonly Decision[]
interface Started {
  decision: Decision
  items: readonly QuarantinedItem[]
}

/** One decision for all selected items, with an outcome for each. Only releases of network and organization items reach other people. */
export function QuarantineBulk({ items, onClear }: { items: readonly QuarantinedItem[]; onClear: () => void }) {
  const t = useTranslations('safety.held')
  const [started, setStarted] = useState<Started>()
  const [finished, setFinished] = useState<Decision>()
  const batch = useApiBatch(
    reviewAt,
    ({ id, decision }: { id: string; decision: Decision }) => ({ params: { id }, body: { decision } }),
    { touches: ['/v1/quarantine'] },
  )
  const start = (decision: Decision) => {
    batch.reset()
    setFinished(undefined)
    setStarted({ decision, items })
  }
  const confirm = () => {
    if (!started) return
    const { decision } = started
    batch.begin(
      started.items.map(({ id }) => ({ id, decision })),
      () => {
        setStarted(undefined)
        setFinished(decision)
        onClear()
      },
    )
  }
  const done = batch.outcomes.filter(({ problem }) => problem === undefined).length
  return (
    <>
      {finished && batch.outcomes.length > 0 && (
        <OutcomeList
          title={t('bulk.done', { decision: finished, done, total: batch.outcomes.length })}
          done={t(`bulk.ok.${finished}`)}
          outcomes={batch.outcomes.map(({ item: { id }, problem }) => ({ key: id, name: id, problem }))}
        />
      )}
      <BulkBar count={items.length} onClear={onClear}>
        {decisions.map((decision) => (
          <Button key={decision} tone="plain" size="small" onClick={() => start(decision)}>
            {t(decision)}
          </Button>
        ))}
      </BulkBar>
      {started && (
        <Confirm
          open
          onOpenChange={(open) => !open && setStarted(undefined)}
          title={t('bulk.title', { decision: started.decision, count: started.items.length })}
          consequences={<BulkConsequences {...started} />}
          action={t(started.decision)}
          tone="main"
          change={{ isPending: batch.isPending, problem: undefined, reset: batch.reset }}
          onConfirm={confirm}
        />
      )}
    </>
  )
}

function BulkConsequences({ decision, items }: Started) {
  const t = useTranslations('safety.held')
  const { close, colon, open } = usePunctuation()
  if (decision === 'keep')
    return (
      <>
        <p>{t('keepText')}</p>
        <p>{t('keepReports')}</p>
      </>
    )
  return (
    <>
      {(['network', 'org', 'private'] as const).map((visibility) => {
        const count = items.filter((item) => item.visibility === visibility).length
        return (
          count > 0 && (
            <p key={visibility}>
              {`${t(`visibility.${visibility}`)}${open}${count}${close}${colon}${t('releaseText', { visibility })}`}
            </p>
          )
        )
      })}
      {items.some(({ reports }) => reports.length > 0) && <p>{t('releaseReports')}</p>}
    </>
  )
}
