'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { editProjectAt, type Project, projectPaths } from './endpoints.ts'

export function RenameForm({ project: { id, name } }: { project: Project }) {
  const t = useTranslations('projects.settings')
  const [typed, setTyped] = useState(name)
  const edit = useApiMutation(editProjectAt, { touches: projectPaths })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    edit.begin({ params: { projectId: id }, body: { name: typed.trim() } })
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-3">
      {edit.problem && <ProblemAlert problem={edit.problem} />}
      {edit.isSuccess && <Alert tone="done" title={t('renamed')} isLive />}
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 grow basis-64">
          <Field
            label={t('rename')}
            name="name"
            dir="auto"
            autoComplete="off"
            maxLength={200}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            required
          />
        </div>
        <Button type="submit" tone="plain" aria-disabled={edit.isPending}>
          {t('renameDo')}
        </Button>
      </div>
    </form>
  )
}
