'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { listAllRequestsAt } from '#components/queue/endpoints.ts'
import { useRequestWords } from '#components/queue/request-words.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { showToast } from '#components/ui/toast.ts'
import { RequestRefused } from '#lib/client/request.ts'
import { type Hold, holdPaths, releaseAt } from './endpoints.ts'
import { targetName } from './hold-columns.tsx'

/** The requests that continue after the release of one hold. */
function WaitingRequests({ hold }: { hold: Hold }) {
  const t = useTranslations('holds.releasing')
  const words = useRequestWords()
  const waiting = useApiQuery(listAllRequestsAt, { query: { hold: hold.id, limit: '20' } })
  return (
    <>
      <p role="status">{waiting.data ? t('requests', { count: waiting.data.total }) : t('counting')}</p>
      {waiting.data && waiting.data.data.length > 0 && (
        <ul className="grid gap-1">
          {waiting.data.data.map((request) => (
            <li key={request.id}>
              <TextLink href={`/admin/requests/${request.id}`}>{words.whole(request)}</TextLink>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Confirms the release of holds, with the consequences. Every hold has its own outcome; those that failed stay in the dialog. */
export function ReleaseDialog({ holds, close }: { holds: readonly Hold[]; close: () => void }) {
  const t = useTranslations('holds')
  const ofApproval = useTranslations('common.approval')
  const { list } = usePunctuation()
  const change = useApiMutation(releaseAt, { touches: holdPaths })
  const [left, setLeft] = useState(holds)
  const [isRunning, setIsRunning] = useState(false)

  async function release(): Promise<void> {
    setIsRunning(true)
    const failed: Hold[] = []
    let asked = 0
    for (const hold of left)
      await change.mutateAsync({ params: { id: hold.id } }).catch((error: unknown) => {
        if (error instanceof RequestRefused && error.problem.proposal_id !== undefined) asked++
        else failed.push(hold)
      })
    setIsRunning(false)
    const done = left.length - failed.length - asked
    if (asked > 0) showToast({ title: ofApproval('asked') })
    if (done > 0) showToast({ title: t('releasing.done', { done, total: left.length }) })
    setLeft(failed)
    if (failed.length === 0) close()
  }
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('releasing.title', { count: left.length })}
      consequences={
        <>
          <ul className="grid gap-0.5 font-medium text-ink">
            {left.map((hold) => (
              <li key={hold.id} className="wrap-anywhere">
                {targetName(hold)}
              </li>
            ))}
          </ul>
          <p>{t('releasing.text')}</p>
          {left.length === 1 && left[0] && <WaitingRequests hold={left[0]} />}
        </>
      }
      action={t('release')}
      needsApproval
      change={{ ...change, isPending: isRunning || change.isPending }}
      onConfirm={() => void release()}
    >
      {!isRunning && left.length > 0 && change.problem && (
        <Alert tone="danger" isLive title={t('releasing.failed', { target: list(left.map(targetName)) })} />
      )}
    </Confirm>
  )
}
