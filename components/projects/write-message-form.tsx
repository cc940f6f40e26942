'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { issueOf } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { projectPaths, writeMessageAt } from './endpoints.ts'

const empty = { content: '' }

/** Writes a message as the reader. */
export function WriteMessageForm({ projectId, conversationId }: { projectId: string; conversationId: string }) {
  const t = useTranslations('projects.conversation.write')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`projects.say.${conversationId}`, empty)
  const say = useApiMutation(writeMessageAt, { touches: projectPaths })
  const isTooLong = issueOf(say.problem, 'content') !== undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (draft.content === '') return
    say.begin({ params: { projectId, conversationId }, body: { role: 'user', content: draft.content } }, clear)
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-3">
      {say.problem && !isTooLong && <ProblemAlert problem={say.problem} />}
      {say.isSuccess && <Alert tone="done" title={t('sent')} isLive />}
      <TextArea
        label={t('label')}
        name="content"
        dir="auto"
        value={draft.content}
        onChange={({ target }) => change({ content: target.value })}
        error={isTooLong ? t('tooLong') : undefined}
        required
      />
      <Button type="submit" aria-disabled={say.isPending} className="justify-self-start">
        {say.isPending ? common('busy') : t('submit')}
      </Button>
    </form>
  )
}
