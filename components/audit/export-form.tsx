'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Checkbox, Select } from '#components/ui/field.tsx'
import { showToast } from '#components/ui/toast.ts'
import { oldestRead } from '#lib/domains/audit/rules.ts'
import { type AuditQuery, auditMonths, exportHref, monthQuery } from './filters.ts'

const formats = { csv: 'CSV', jsonl: 'JSON Lines' }

/** Downloads the entries of the current filters, which is the default, or of a month. */
export function ExportForm({ query: shown, onDone }: { query: AuditQuery & { to: string }; onDone: () => void }) {
  const t = useTranslations('audit.export')
  const format = useFormatter()
  const now = useNow()
  const [period, setPeriod] = useState('view')
  const [file, setFile] = useState<keyof typeof formats>('csv')
  const [hasReads, setHasReads] = useState(false)
  const query = period === 'view' ? shown : monthQuery(period, hasReads)
  const viewPeriod = format.dateTimeRange(shown.from ? new Date(shown.from) : oldestRead(now), new Date(shown.to), {
    dateStyle: 'medium',
  })
  const monthName = (month: string) =>
    t('month', {
      month: format.dateTime(new Date(`${month}-15T00:00:00Z`), { month: 'long', year: 'numeric', timeZone: 'UTC' }),
    })
  return (
    <div className="grid gap-5">
      <Select
        label={t('period')}
        value={period}
        onChange={({ target }) => setPeriod(target.value)}
        options={[
          { value: 'view', title: t('view', { period: viewPeriod }) },
          ...auditMonths(now).map((month) => ({ value: month, title: monthName(month) })),
        ]}
      />
      <Select
        label={t('format')}
        value={file}
        onChange={({ target }) => setFile(target.value === 'jsonl' ? 'jsonl' : 'csv')}
        options={Object.entries(formats).map(([value, title]) => ({ value, title }))}
      />
      {period !== 'view' && (
        <Checkbox label={t('reads')} checked={hasReads} onChange={({ target }) => setHasReads(target.checked)} />
      )}
      <DialogFooter>
        <PlainButtonLink
          href={exportHref(query, file)}
          download
          onClick={() => {
            onDone()
            showToast({ title: t('started') })
          }}
        >
          {t('download')}
        </PlainButtonLink>
      </DialogFooter>
    </div>
  )
}
