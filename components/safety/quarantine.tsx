'use client'

import { useTranslations } from 'next-intl'
import { useMemo, useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { type QuarantinedItem, type QuarantinePage, quarantineAt, reviewAt } from './endpoints.ts'
import { QuarantineBulk } from './quarantine-bulk.tsx'
import { type Decision, QuarantinedItemView } from './quarantined-item.tsx'

interface Choice {
  item: QuarantinedItem
  decision: Decision
}

function Consequences({ item: { visibility, reports }, decision }: Choice) {
  const t = useTranslations('safety.held')
  return decision === 'release' ? (
    <>
      <p>{t('releaseText', { visibility })}</p>
      {reports.length > 0 && <p>{t('releaseReports')}</p>}
    </>
  ) : (
    <>
      <p>{t('keepText')}</p>
      {reports.length > 0 && <p>{t('keepReports')}</p>}
    </>
  )
}

/** Shows the content of a row, or hides it again. */
function toggleContent(index: number): void {
  const details = document.querySelector(`[data-row="${index}"] details`)
  if (details instanceof HTMLDetailsElement) details.open = !details.open
}

/** Quarantined items, longest waiting first. Reviewers use the mouse or the keys j, k, r and h. */
export function Quarantine({ initial }: { initial: QuarantinePage }) {
  const t = useTranslations('safety.held')
  const list = useApiInfiniteQuery(quarantineAt, { query: { limit: '20' } }, { initial })
  const review = useApiMutation(reviewAt, { touches: ['/v1/quarantine'] })
  const [choice, setChoice] = useState<Choice>()
  const [isOpen, setIsOpen] = useState(false)
  const [done, setDone] = useState<{ id: string; decision: Decision }>()
  const selection = useSelection(useMemo(() => list.rows.map(({ id }) => id), [list.rows]))
  const { cursor } = useRowKeys({
    count: list.rows.length,
    onOpen: toggleContent,
    openLabel: t('keyContent'),
  })
  const decide = (item: QuarantinedItem | undefined, decision: Decision) => {
    if (!item || review.isPending) return
    setDone(undefined)
    setChoice({ item, decision })
    setIsOpen(true)
  }
  const toggleAtHand = () => {
    const item = list.rows[cursor]
    if (item) selection.toggle(item.id)
  }
  useKeys([
    { key: 'x', label: t('keyChoose'), run: toggleAtHand },
    { key: 'r', label: t('keyRelease'), run: () => decide(list.rows[cursor], 'release') },
    { key: 'h', label: t('keyKeep'), run: () => decide(list.rows[cursor], 'keep') },
  ])
  return (
    <div className="grid gap-4">
      {done && (
        <Alert tone="done" title={t(done.decision === 'release' ? 'released' : 'kept', { id: done.id })} isLive />
      )}
      {list.rows.length === 0 ? (
        <EmptyState title={t('noneTitle')}>
          <p>{t('none')}</p>
        </EmptyState>
      ) : (
        <>
          {list.rows.map((item, index) => (
            <QuarantinedItemView
              key={item.id}
              item={item}
              index={index}
              isAtHand={index === cursor}
              isBusy={review.isPending}
              isChosen={selection.chosen.has(item.id)}
              onChoose={() => selection.toggle(item.id)}
              decide={(decision) => decide(item, decision)}
            />
          ))}
          <MoreButton pages={list} />
        </>
      )}
      <QuarantineBulk items={list.rows.filter(({ id }) => selection.chosen.has(id))} onClear={selection.clear} />
      {choice && (
        <Confirm
          open={isOpen}
          onOpenChange={setIsOpen}
          title={t(choice.decision === 'release' ? 'releaseTitle' : 'keepTitle')}
          consequences={<Consequences {...choice} />}
          action={t(choice.decision)}
          tone="main"
          change={review}
          onConfirm={() =>
            review.begin({ params: { id: choice.item.id }, body: { decision: choice.decision } }, () => {
              setIsOpen(false)
              setDone({ id: choice.item.id, decision: choice.decision })
            })
          }
        />
      )}
    </div>
  )
}
