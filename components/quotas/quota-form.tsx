'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { setStorageQuota } from '#lib/domains/quotas/contract.ts'
import type { StorageFacts } from './storage-use.tsx'

const quotaAt: Endpoint<typeof setStorageQuota> = { method: 'put', path: '/api/admin/organisations/{id}/storage' }
const mebibyte = 1024 ** 2
const form = /^\d{1,9}$/

/** Sets the storage quota of an organization; an empty field restores the quota of its tier. */
export function QuotaForm({ storage }: { storage: StorageFacts }) {
  const t = useTranslations('storage')
  const common = useTranslations('common')
  const { organisation_id: id, is_override } = storage
  const own = (limit: number | null, unit: number) =>
    is_override && limit !== null ? String(Math.round(limit / unit)) : ''
  const [mebibytes, setMebibytes] = useState(own(storage.bytes_limit, mebibyte))
  const [rows, setRows] = useState(own(storage.rows_limit, 1))
  const change = useApiMutation(quotaAt, { touches: ['/api/admin/organisations', '/api/storage'] })
  const isWrong = (typed: string) => typed.trim() !== '' && !form.test(typed.trim())
  const wanted = (typed: string, unit: number) => (typed.trim() === '' ? null : Number(typed.trim()) * unit)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isWrong(mebibytes) || isWrong(rows)) return
    change.begin({ params: { id }, body: { bytes: wanted(mebibytes, mebibyte), rows: wanted(rows, 1) } })
  }
  return (
    <form method="post" onSubmit={submit} noValidate data-form="storage-quota" className="grid max-w-3xl gap-4">
      {change.problem && <ProblemAlert problem={change.problem} />}
      {change.isSuccess && <Alert tone="done" title={t('saved')} isLive />}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t('quotaBytes')}
          hint={t('quotaHint')}
          name="mebibytes"
          inputMode="numeric"
          autoComplete="off"
          maxLength={9}
          value={mebibytes}
          onChange={({ target }) => setMebibytes(target.value)}
          error={isWrong(mebibytes) ? t('wrong') : undefined}
        />
        <Field
          label={t('quotaRows')}
          hint={t('quotaHint')}
          name="rows"
          inputMode="numeric"
          autoComplete="off"
          maxLength={9}
          value={rows}
          onChange={({ target }) => setRows(target.value)}
          error={isWrong(rows) ? t('wrong') : undefined}
        />
      </div>
      <p>
        <Button type="submit" aria-disabled={change.isPending}>
          {change.isPending ? common('busy') : t('save')}
        </Button>
      </p>
    </form>
  )
}
