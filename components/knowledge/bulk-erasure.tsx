'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type ProblemDocument, RequestRefused, request } from '#lib/client/request.ts'
import { eraseSkillAt, eraseUnitAt, isSkillId, knowledgePaths, type ListedRecord } from './knowledge.ts'

interface Outcome {
  id: string
  title: string
  receiptId?: string
  /** The problem code if the erasure was refused. */
  refused?: ProblemDocument['code']
}

async function erased({ id, title }: ListedRecord): Promise<Outcome> {
  const parts = { params: { id }, headers: { prefer: 'return=representation' } }
  try {
    const receipt = isSkillId(id) ? await request(eraseSkillAt, parts) : await request(eraseUnitAt, parts)
    return { id, title, receiptId: receipt.receipt_id }
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error
    return { id, title, refused: error.problem.code }
  }
}

interface Run {
  total: number
  outcomes: readonly Outcome[]
  isOver: boolean
}

/** Erases records one after the other. */
function useBulkErasure() {
  const client = useQueryClient()
  const router = useRouter()
  // Kept in state, because the refreshed list no longer contains erased records.
  const [run, setRun] = useState<Run>()
  const begin = async (records: readonly ListedRecord[]) => {
    const total = records.length
    const outcomes: Outcome[] = []
    setRun({ total, outcomes: [], isOver: false })
    for (const record of [...records]) {
      outcomes.push(await erased(record))
      setRun({ total, outcomes: [...outcomes], isOver: false })
    }
    setRun({ total, outcomes, isOver: true })
    await client.invalidateQueries({
      predicate: ({ queryKey: [path] }) =>
        typeof path === 'string' && knowledgePaths.some((one) => path.startsWith(one)),
    })
    router.refresh()
  }
  return { run, begin }
}

interface BulkErasureProps {
  records: readonly ListedRecord[]
  /** Called after the erasures. */
  onClose: () => void
  onCancel: () => void
}
/** Erases the selected records after a confirmation and reports the result of each. */
export function BulkErasure({ records, onClose, onCancel }: BulkErasureProps) {
  const t = useTranslations('knowledge.bulk')
  const [typed, setTyped] = useState('')
  const { run, begin } = useBulkErasure()
  if (run) return <ErasureOutcomes run={run} onClose={onClose} />
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onCancel()}
      title={t('title', { count: records.length })}
      consequences={
        <>
          <p>{t('consequences')}</p>
          <p>
            {t('export')} <TextLink href="/settings/privacy?tab=download">{t('toPrivacy')}</TextLink>
          </p>
        </>
      }
      action={t('action', { count: records.length })}
      change={{ isPending: false, problem: undefined, reset() {} }}
      isIncomplete={typed.trim() !== t('word')}
      onConfirm={() => void begin(records)}
    >
      <Field
        label={t('type', { word: t('word') })}
        name="word"
        autoComplete="off"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </Confirm>
  )
}

/** The progress, and the receipt or the refusal of each record. */
function ErasureOutcomes({ run: { outcomes, total, isOver }, onClose }: { run: Run; onClose: () => void }) {
  const t = useTranslations('knowledge.bulk')
  const problems = useTranslations('problems')
  const done = outcomes.filter(({ receiptId }) => receiptId !== undefined).length
  const progress = t('progress', { done: outcomes.length, total })
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && isOver && onClose()}
      title={isOver ? t('doneTitle', { erased: done, failed: outcomes.length - done }) : progress}
    >
      {!isOver && <ProgressBar value={outcomes.length} max={total} label={progress} />}
      <ul aria-label={t('each')} className="divide-y divide-line rounded-box border border-line">
        {outcomes.map(({ id, title, receiptId, refused }) => (
          <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 px-4 py-2">
            <bdi className="line-clamp-1 min-w-0 grow basis-48">{title || id}</bdi>
            {receiptId === undefined ? (
              <span className="text-red">{problems(`${refused ?? 'unknown'}.what`)}</span>
            ) : (
              <span className="text-quiet">
                {t('erased')} · <TextLink href={`/receipts/${receiptId}`}>{t('receipt')}</TextLink>
              </span>
            )}
          </li>
        ))}
      </ul>
      {isOver && (
        <DialogFooter>
          <Button onClick={onClose}>{t('close')}</Button>
        </DialogFooter>
      )}
    </Dialog>
  )
}
