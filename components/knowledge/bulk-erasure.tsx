'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
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

/** Erases the selected records one after the other and reports the result of each. */
export function BulkErasure({
  records,
  onClose,
  onCancel,
}: {
  records: readonly ListedRecord[]
  /** Called after the erasures. */
  onClose: () => void
  onCancel: () => void
}) {
  const t = useTranslations('knowledge')
  const problems = useTranslations('problems')
  const client = useQueryClient()
  const router = useRouter()
  const [typed, setTyped] = useState('')
  // Kept in state, because the refreshed list no longer contains erased records.
  const [run, setRun] = useState<{ total: number; outcomes: Outcome[]; isOver: boolean }>()

  const begin = async () => {
    const chosen = [...records]
    const outcomes: Outcome[] = []
    setRun({ total: chosen.length, outcomes: [], isOver: false })
    for (const record of chosen) {
      outcomes.push(await erased(record))
      setRun({ total: chosen.length, outcomes: [...outcomes], isOver: false })
    }
    setRun({ total: chosen.length, outcomes, isOver: true })
    await client.invalidateQueries({
      predicate: ({ queryKey: [path] }) =>
        typeof path === 'string' && knowledgePaths.some((one) => path.startsWith(one)),
    })
    router.refresh()
  }
  if (!run)
    return (
      <Confirm
        open
        onOpenChange={(open) => !open && onCancel()}
        title={t('bulk.title', { count: records.length })}
        consequences={
          <>
            <p>{t('bulk.consequences')}</p>
            <p>
              {t('bulk.export')} <TextLink href="/settings/privacy?tab=download">{t('bulk.toPrivacy')}</TextLink>
            </p>
          </>
        }
        action={t('bulk.action', { count: records.length })}
        change={{ isPending: false, problem: undefined, reset() {} }}
        isIncomplete={typed.trim() !== t('bulk.word')}
        onConfirm={() => void begin()}
      >
        <Field
          label={t('bulk.type', { word: t('bulk.word') })}
          name="word"
          autoComplete="off"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </Confirm>
    )
  const { outcomes, total, isOver } = run
  const done = outcomes.filter(({ receiptId }) => receiptId !== undefined).length
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && isOver && onClose()}
      title={
        isOver
          ? t('bulk.doneTitle', { erased: done, failed: outcomes.length - done })
          : t('bulk.progress', { done: outcomes.length, total })
      }
    >
      {!isOver && (
        <ProgressBar value={outcomes.length} max={total} label={t('bulk.progress', { done: outcomes.length, total })} />
      )}
      <ul aria-label={t('bulk.each')} className="divide-y divide-line rounded-box border border-line">
        {outcomes.map(({ id, title, receiptId, refused }) => (
          <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 px-4 py-2">
            <bdi className="line-clamp-1 min-w-0 grow basis-48">{title || id}</bdi>
            {receiptId === undefined ? (
              <span className="text-red">{problems(`${refused ?? 'unknown'}.what`)}</span>
            ) : (
              <span className="text-quiet">
                {t('bulk.erased')} · <TextLink href={`/receipts/${receiptId}`}>{t('bulk.receipt')}</TextLink>
              </span>
            )}
          </li>
        ))}
      </ul>
      {isOver && (
        <div className="flex justify-end">
          <Button onClick={onClose}>{t('bulk.close')}</Button>
        </div>
      )}
    </Dialog>
  )
}
