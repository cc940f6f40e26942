'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { decideReferencesAt, referenceKey, referencesAt, type UndecidedReference } from './endpoints.ts'

const atOnce = 100
type Decision = 'rename' | 'restore'

interface ReferenceListProps {
  receiptId: string
  decision: Decision
  rows: readonly UndecidedReference[]
  total: number
  /** Shown above the table. */
  children?: ReactNode
  onDone: (counts: { changed: number; unchanged: number }) => void
}
/** Records that contain a name, with one decision for the selected ones. */
function ReferenceList({ receiptId, decision, rows, total, children, onDone }: ReferenceListProps) {
  const t = useTranslations('erasures.references')
  const { list } = usePunctuation()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [isOpen, setOpen] = useState(false)
  const decide = useApiMutation(decideReferencesAt, { touches: [referencesAt.path] })
  const shown = rows.slice(0, atOnce)
  const records = shown.map(({ id }) => id).filter((id) => chosen.has(id))
  const toggle = (id: string) =>
    setChosen(new Set(chosen.has(id) ? [...chosen].filter((one) => one !== id) : [...chosen, id]))
  const toggleAll = () => setChosen(new Set(records.length === shown.length ? [] : shown.map(({ id }) => id)))
  return (
    <section aria-label={t(`${decision}.title`)} className="grid gap-3">
      <h3 className="font-medium">{t(`${decision}.title`)}</h3>
      {total === 0 ? (
        <p className="text-quiet">{t(`${decision}.none`)}</p>
      ) : (
        <>
          {children}
          <DataTable
            label={t(`${decision}.title`)}
            rows={shown}
            rowKey={({ id }) => id}
            selection={{ chosen, toggle, toggleAll }}
            columns={[
              {
                key: 'record',
                title: t('columns.record'),
                main: true,
                cell: ({ id }) => <CopyableId id={id} what={t('columns.record')} />,
              },
              {
                key: 'field',
                title: t('columns.field'),
                cell: ({ places }) => list(places.map((place) => t(`places.${referenceKey(place)}`))),
              },
              {
                key: 'visibility',
                title: t('columns.visibility'),
                cell: ({ visibility }) => t(`visibilities.${visibility}`),
              },
              {
                key: 'organisation',
                title: t('columns.organisation'),
                cell: ({ organisation_id: id }) => <CopyableId id={id} what={t('columns.organisation')} />,
              },
              {
                key: 'created',
                title: t('columns.created'),
                cell: ({ created_at }) => <Time at={created_at} isDay />,
              },
            ]}
          />
          {total > shown.length && <p className="text-sm text-quiet">{t('more', { shown: shown.length, total })}</p>}
          <p>
            <Button
              tone="plain"
              aria-disabled={records.length === 0}
              onClick={() => records.length > 0 && setOpen(true)}
            >
              {t(`${decision}.open`, { count: records.length })}
            </Button>
          </p>
        </>
      )}
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t(`${decision}.ask`, { count: records.length })}
        consequences={<p>{t(`${decision}.text`)}</p>}
        action={t(`${decision}.open`, { count: records.length })}
        tone={decision === 'rename' ? 'danger' : 'main'}
        change={decide}
        onConfirm={() =>
          decide.begin({ params: { id: receiptId }, body: { decision, records } }, ({ data }) => {
            setOpen(false)
            setChosen(new Set())
            onDone(data)
          })
        }
      />
    </section>
  )
}

/** References to the id of an erased person or agent in records of others: those that remain, and those that were pseudonymized. */
export function References({ receiptId }: { receiptId: string }) {
  const t = useTranslations('erasures.references')
  const [told, setTold] = useState<string>()
  const { data, problem } = useApiQuery(referencesAt, { params: { id: receiptId } })
  // The ledger of this installation does not contain the erasure, so nothing can be decided.
  if (problem?.code === 'not_found') return null
  if (!data && !problem) return null
  const until = data?.restorable.until ?? null
  return (
    <Section id="references" title={t('title')} lead={t('lead')}>
      {problem && <ProblemAlert problem={problem} />}
      {told !== undefined && <Alert tone="done" title={told} isLive />}
      {data && (
        <div className="grid gap-6">
          <ReferenceList
            receiptId={receiptId}
            decision="rename"
            rows={data.data}
            total={data.total}
            onDone={(counts) => setTold(t('rename.done', counts))}
          />
          <ReferenceList
            receiptId={receiptId}
            decision="restore"
            rows={data.restorable.data}
            total={data.restorable.total}
            onDone={(counts) => setTold(t('restore.done', counts))}
          >
            {until !== null && <p>{t.rich('restore.until', { time: () => <Time at={until} relative /> })}</p>}
          </ReferenceList>
        </div>
      )}
    </Section>
  )
}
