'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { ReaderTable } from '#components/accounts/reader-table.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listReaders } from '#lib/domains/console/contract.ts'

const readersAt: Endpoint<typeof listReaders> = { method: 'get', path: '/api/privacy/readers' }

/** Who read the person's data, from the audit log. It loads when opened, because reading the log is audited itself. */
export function WhoRead() {
  const t = useTranslations('person.readers')
  const [isOpen, setOpen] = useState(false)
  const asked = useApiQuery(readersAt, {}, { enabled: isOpen })
  return (
    <section id="readers" aria-label={t('mine')}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="w-fit min-h-6 cursor-pointer text-accent">{t('show')}</summary>
        <div className="mt-3 grid gap-2">
          <p className="max-w-[48rem] text-quiet">{t('mineText')}</p>
          {asked.problem && <ProblemAlert problem={asked.problem} />}
          {!asked.data && !asked.problem && <Skeleton className="h-20" />}
          {asked.data && <ReaderTable readers={asked.data.data} />}
          {asked.data?.is_complete === false && (
            <p className="text-sm text-quiet">{t('partial', { count: asked.data.records })}</p>
          )}
        </div>
      </details>
    </section>
  )
}
