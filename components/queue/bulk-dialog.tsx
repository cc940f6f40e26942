'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Confirm, type Confirmed } from '#components/ui/confirm.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import type { WordedAct } from './acts.ts'
import type { BulkWords } from './bulk.ts'
import { WordsField } from './words-field.tsx'

interface BulkDialogProps {
  act: WordedAct
  count: number
  change: Confirmed
  begin: (words: BulkWords, done: () => void) => void
  close: () => void
}

/** The text and the consequences of a bulk action. The text survives until the action is done. */
export function BulkDialog({ act, count, change, begin, close }: BulkDialogProps) {
  const t = useTranslations('queue')
  const { draft, change: type, clear } = useDraft(`queue:${act}`, { text: '' })
  const [dropCopies, setDropCopies] = useState(false)
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t(`dialogs.${act}.title`, { count })}
      consequences={<p>{t(`dialogs.${act}.text`)}</p>}
      action={act === 'expedite' ? t('dialogs.expedite.action') : t(`acts.${act}`)}
      tone={act === 'expedite' ? 'danger' : 'main'}
      change={change}
      isIncomplete={draft.text.trim() === ''}
      onConfirm={() =>
        begin({ text: draft.text, dropCopies }, () => {
          clear()
          close()
        })
      }
    >
      <WordsField
        label={act === 'comment' ? t('acts.comment') : t('dialogs.reason')}
        hint={t('send')}
        value={draft.text}
        change={(text) => type({ text })}
        autoFocus
        required
      />
      {act === 'expedite' && (
        <Checkbox
          label={t('dialogs.expedite.drop')}
          hint={t('dialogs.expedite.dropText')}
          checked={dropCopies}
          onChange={(event) => setDropCopies(event.currentTarget.checked)}
        />
      )}
    </Confirm>
  )
}
