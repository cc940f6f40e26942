'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { recallAt, recallOf, type Share, type SharePage, sharesAt, sharesPerPage, sharingPaths } from './clades.ts'
import { ShareItem } from './share-item.tsx'

interface ShareListProps {
  agentId: string
  initial: SharePage
  names: Readonly<Record<string, string>>
  /** Whether the reader's role may recall. */
  mayRecall: boolean
}

/** The shares of an agent, newest first: recipients, manifest, and a button to recall. */
export function ShareList({ agentId, initial, names, mayRecall }: ShareListProps) {
  const t = useTranslations('agentSharing.shares')
  const list = useApiInfiniteQuery(sharesAt, { params: { id: agentId }, query: { limit: sharesPerPage } }, { initial })
  const recall = useApiMutation(recallAt, { touches: sharingPaths })
  const [chosen, setChosen] = useState<Share>()
  const [isOpen, setOpen] = useState(false)
  const [done, setDone] = useState<{ shares: number; told: number }>()
  if (list.rows.length === 0 && !list.problem)
    return (
      <EmptyState title={t('noneTitle')}>
        <p>{t('none')}</p>
      </EmptyState>
    )
  const ask = (share: Share) => {
    setDone(undefined)
    setChosen(share)
    setOpen(true)
  }
  const reach = chosen && recallOf(chosen.siblings)
  return (
    <div className="grid gap-4">
      {done && <Alert tone="done" title={t('recalled', { count: done.shares, told: done.told })} isLive />}
      {list.rows.map((share) => (
        <ShareItem
          key={share.share_id}
          share={share}
          names={names}
          {...(mayRecall && { onRecall: () => ask(share) })}
        />
      ))}
      <MoreButton pages={list} />
      {chosen && reach && (
        <Confirm
          open={isOpen}
          onOpenChange={setOpen}
          title={t('recallAsk')}
          consequences={
            <>
              <p>{t('recallHere')}</p>
              <p>{t('recallThere', { told: reach.told, unfetched: reach.unfetched })}</p>
              <p>{t('recallMade')}</p>
              <p>{t('recallFinal')}</p>
            </>
          }
          action={t('recallDo')}
          change={recall}
          onConfirm={() =>
            recall.begin({ params: { id: agentId, shareId: chosen.share_id } }, ({ data }) => {
              setOpen(false)
              setDone({ shares: data.recalled.length, told: data.to_acknowledge })
            })
          }
        />
      )}
    </div>
  )
}
