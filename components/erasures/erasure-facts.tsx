'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CopyLink } from '#components/ui/copy-link.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Run } from './endpoints.ts'
import { ErasureDuration } from './erasure-duration.tsx'

/** The facts beside a deletion: its times, the request, and the receipt. */
export function ErasureFacts({ run, isAdmin }: { run: Run; isAdmin: boolean }) {
  const t = useTranslations('erasures.one')
  const list = useTranslations('erasures')
  const facts: (readonly [string, ReactNode])[] = [
    [
      list('receipt'),
      run.receipt_id === null ? (
        list('notYet')
      ) : (
        <TextLink key="receipt" href={`/receipts/${run.receipt_id}`}>
          {list('openReceipt')}
        </TextLink>
      ),
    ],
    ...(run.request_id === null
      ? []
      : [
          [
            t('request'),
            isAdmin ? (
              <TextLink key="request" href={`/admin/requests/${run.request_id}`}>
                {t('requestLink')}
              </TextLink>
            ) : (
              <CopyableId key="request" id={run.request_id} what={t('request')} longest={18} />
            ),
          ] as const,
        ]),
    [list('columns.began'), <Time key="began" at={run.created_at} />],
    [t('fenced'), run.fenced_at === null ? list('notYet') : <Time key="fenced" at={run.fenced_at} />],
    [t('finished'), run.finished_at === null ? list('notYet') : <Time key="finished" at={run.finished_at} />],
    [list('columns.duration'), <ErasureDuration key="duration" erasure={run} />],
    [list('columns.run'), <CopyableId key="run" id={run.run_id} what={list('columns.run')} longest={18} />],
  ]
  return (
    <Card title={t('facts')}>
      <FactList facts={facts} />
      <p>
        <CopyLink />
      </p>
    </Card>
  )
}
