'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { sendTest } from '#lib/domains/outbox/contract.ts'
import type { listStores } from '#lib/domains/stores/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const testAt: Endpoint<typeof sendTest> = { method: 'post', path: '/api/admin/outbox/test' }
const storesAt: Endpoint<typeof listStores> = { method: 'get', path: '/api/stores' }

/** Sends an email to the reader's own address and says what the mail server answered. The result stays. */
export function EmailTest() {
  const t = useTranslations('overview.admin.setup')
  const [sent, setSent] = useState<Output<typeof sendTest>['data']>()
  const sending = useApiMutation(testAt, { touches: ['/api/admin/outbox'], isQuiet: true })
  const send = () => {
    setSent(undefined)
    sending.begin({}, ({ data }) => setSent(data))
  }
  return (
    <div className="grid justify-items-start gap-2">
      {sending.problem && <ProblemAlert problem={sending.problem} />}
      <Button tone="plain" size="small" aria-disabled={sending.isPending} onClick={send}>
        {sending.isPending ? t('results.busy') : t('tests.email')}
      </Button>
      <p role="status" className={sent?.result === 'failed' ? 'text-sm text-red' : 'text-sm'}>
        {sent?.result === 'sent' && t('results.email', { address: sent.to })}
        {sent?.result === 'folder' && t('results.folder')}
        {sent?.result === 'failed' && t('results.failed', { reason: sent.reason ?? '' })}
      </p>
    </div>
  )
}

/** Asks every store whether it answers, and counts those whose region nobody stated. */
export function StoresTest() {
  const t = useTranslations('overview.admin.setup')
  const [isAsked, setAsked] = useState(false)
  const { data, problem, isFetching, refetch } = useApiQuery(storesAt, {}, { enabled: isAsked })
  const stores = (data?.data.stores ?? []).filter(({ state }) => state !== 'off')
  const check = () => (isAsked ? void refetch() : setAsked(true))
  return (
    <div className="grid justify-items-start gap-2">
      {problem && <ProblemAlert problem={problem} />}
      <p className="flex flex-wrap items-center gap-3">
        <Button tone="plain" size="small" aria-disabled={isFetching} onClick={check}>
          {isAsked && isFetching ? t('results.busy') : t('tests.regions')}
        </Button>
        <TextLink href="/admin/stores">{t('open.regions')}</TextLink>
      </p>
      <p role="status" className="text-sm">
        {isAsked &&
          data &&
          !isFetching &&
          t('results.stores', {
            ok: stores.filter(({ state }) => state === 'ok').length,
            total: stores.length,
            unknown: stores.filter(({ region }) => region === null).length,
          })}
      </p>
    </div>
  )
}
