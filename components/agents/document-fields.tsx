'use client'

import { useTranslations } from 'next-intl'
import { issueOf, useFaultWords } from '#components/frame/faults.ts'
import { Field, TextArea } from '#components/ui/field.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { documentBytes } from '#lib/domains/agents/life/rules.ts'
import { isTooLong } from './documents.ts'

/** Whether the problem is shown at a field, so that no general alert is needed. */
export const isOfDocumentField = (problem: ProblemDocument): boolean =>
  ['title', 'body'].some((field) => issueOf(problem, field) !== undefined)

interface DocumentFieldsProps {
  title: string
  body: string
  problem: ProblemDocument | undefined
  onChange: (changes: { title?: string; body?: string }) => void
}
/** The title of a document and its Markdown text. */
export function DocumentFields({ title, body, problem, onChange }: DocumentFieldsProps) {
  const t = useTranslations('agentDocuments.fields')
  const faults = useFaultWords()
  const errorOf = (field: string) => {
    const message = issueOf(problem, field)
    return message === undefined ? undefined : faults(message)
  }
  const most = documentBytes / 1024
  return (
    <>
      <Field
        label={t('title')}
        name="title"
        dir="auto"
        autoComplete="off"
        maxLength={200}
        value={title}
        onChange={({ target }) => onChange({ title: target.value })}
        error={errorOf('title')}
        required
      />
      <TextArea
        label={t('body')}
        hint={t('bodyHint', { most })}
        name="body"
        dir="auto"
        rows={10}
        className="font-mono"
        value={body}
        onChange={({ target }) => onChange({ body: target.value })}
        error={isTooLong(body) ? t('tooLong', { most }) : errorOf('body')}
        required
      />
    </>
  )
}
