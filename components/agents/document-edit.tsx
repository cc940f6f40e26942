'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { MovedAlert } from '#components/ui/moved-alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { DocumentFields, isOfDocumentField } from './document-fields.tsx'
import {
  type DocumentDraft,
  documentAt,
  documentDraftKey,
  documentIn,
  documentPage,
  documentsTouched,
  editDocumentAt,
  isTooLong,
  unwritten,
  type WholeDocument,
} from './documents.ts'

/** Edits a document. Typed text survives when somebody else changes the document, and both versions are shown. */
export function DocumentEdit({ agentId, initial }: { agentId: string; initial: WholeDocument }) {
  const t = useTranslations('agentDocuments.edit')
  const documents = useTranslations('agentDocuments')
  const common = useTranslations('common')
  const params = { id: agentId, documentId: initial.id }
  const asked = useApiQuery(documentAt, { params }, { initial: { data: initial } })
  const stored = documentIn(asked.data) ?? initial
  const { draft, change, clear } = useDraft<DocumentDraft>(documentDraftKey(initial.id), unwritten)
  const edit = useApiMutation(editDocumentAt, { touches: documentsTouched })
  const [saved, setSaved] = useState<{ isAsSent: boolean }>()
  const { problem } = edit
  const isWritten = draft.revision !== 0
  const { title, body } = isWritten ? draft : stored
  const hasChanges = title !== stored.title || body !== stored.body
  const isMoved = isWritten && draft.revision !== stored.revision

  const type = (changes: { title?: string; body?: string }) =>
    change({ revision: isWritten ? draft.revision : stored.revision, title, body, ...changes })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!hasChanges || isTooLong(body)) return
    const revision = isWritten ? draft.revision : stored.revision
    edit.begin({ params, body: { revision, title: title.trim(), body } }, ({ data }) => {
      clear()
      setSaved({ isAsSent: data.is_as_sent })
    })
  }
  if (saved)
    return (
      <div className="grid justify-items-start gap-4">
        <Alert tone={saved.isAsSent ? 'done' : 'warning'} title={t('saved')} isLive>
          {!saved.isAsSent && <p>{documents('cleaned')}</p>}
        </Alert>
        <ButtonLink href={documentPage(agentId, initial.id)}>{t('read')}</ButtonLink>
      </div>
    )
  return (
    <form method="post" onSubmit={submit} className="grid gap-5" data-form="edit-document">
      {isMoved && (
        <MovedAlert
          title={t('movedTitle', { revision: stored.revision })}
          text={t('movedText')}
          keep={{
            label: t('keepMine'),
            do: () => {
              edit.reset()
              change({ revision: stored.revision })
            },
          }}
          take={{
            label: t('takeTheirs'),
            do: () => {
              edit.reset()
              clear()
            },
          }}
        >
          <details>
            <summary className="w-fit cursor-pointer text-accent">{t('movedShow')}</summary>
            <div className="mt-2 grid gap-2">
              <p dir="auto" className="font-medium">
                {stored.title}
              </p>
              <CodeBlock code={stored.body} what={t('movedShow')} />
            </div>
          </details>
        </MovedAlert>
      )}
      {problem && !(problem.code === 'conflict' && isMoved) && !isOfDocumentField(problem) && (
        <ProblemAlert problem={problem} />
      )}
      <DocumentFields title={title} body={body} problem={problem} onChange={type} />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" aria-disabled={edit.isPending || !hasChanges || isMoved}>
          {edit.isPending ? common('busy') : common('save')}
        </Button>
        <ButtonLink href={documentPage(agentId, initial.id)} tone="plain" onClick={clear}>
          {t('discard')}
        </ButtonLink>
        {!hasChanges && <p className="text-sm text-quiet">{t('nothing')}</p>}
        {isMoved && <p className="text-sm text-quiet">{t('chooseFirst')}</p>}
      </div>
    </form>
  )
}
