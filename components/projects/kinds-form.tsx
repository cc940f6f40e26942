'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Checkbox, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { editProjectAt, type Project, projectPaths } from './endpoints.ts'

type Kind = Project['entity_kinds'][string]
interface Line {
  key: number
  label: string
  kind: Kind
}
const choices = ['person', 'business'] as const
const labelForm = /^\w{1,64}$/

/** Sets which labels of the project graph are people. An unknown label counts as a person. */
export function KindsForm({ project: { id, entity_kinds: kinds }, isOwner }: { project: Project; isOwner: boolean }) {
  const t = useTranslations('projects.settings.kinds')
  const [lines, setLines] = useState<Line[]>(() =>
    Object.entries(kinds).map(([label, kind], key) => ({ key, label, kind })),
  )
  const next = useRef(lines.length)
  const [isChecked, setChecked] = useState(false)
  const edit = useApiMutation(editProjectAt, { touches: projectPaths })
  const faultOf = ({ label }: Line): string | undefined => {
    if (!labelForm.test(label.trim())) return t('bad')
    return lines.filter((line) => line.label.trim() === label.trim()).length > 1 ? t('twice') : undefined
  }
  const set = (key: number, changes: Partial<Line>) =>
    setLines((before) => before.map((line) => (line.key === key ? { ...line, ...changes } : line)))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (lines.some(faultOf)) return
    const entityKinds = Object.fromEntries(lines.map(({ label, kind }) => [label.trim(), kind]))
    edit.begin({ params: { projectId: id }, body: { entity_kinds: entityKinds } })
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-3">
      {edit.problem && <ProblemAlert problem={edit.problem} />}
      {edit.isSuccess && <Alert tone="done" title={t('saved')} isLive />}
      {lines.length === 0 && <p className="text-quiet">{t('none')}</p>}
      {lines.map((line) => (
        <div key={line.key} className="grid items-end gap-3 sm:grid-cols-[1fr_1fr_auto]">
          <Field
            label={t('label')}
            autoComplete="off"
            spellCheck={false}
            className="font-mono"
            maxLength={64}
            value={line.label}
            readOnly={!isOwner}
            onChange={({ target }) => set(line.key, { label: target.value })}
            error={isChecked ? faultOf(line) : undefined}
          />
          <Select
            label={t('kind')}
            value={line.kind}
            disabled={!isOwner}
            options={choices.map((value) => ({ value, title: t(value) }))}
            onChange={({ target }) => set(line.key, { kind: target.value === 'business' ? 'business' : 'person' })}
          />
          {isOwner && (
            <Button
              tone="plain"
              aria-label={t('remove', { label: line.label })}
              onClick={() => setLines((before) => before.filter(({ key }) => key !== line.key))}
            >
              {t('removeDo')}
            </Button>
          )}
        </div>
      ))}
      {isOwner && (
        <div className="flex flex-wrap gap-2">
          <Button
            tone="plain"
            onClick={() => {
              next.current += 1
              setLines((before) => [...before, { key: next.current, label: '', kind: 'business' }])
            }}
          >
            {t('add')}
          </Button>
          <Button type="submit" aria-disabled={edit.isPending}>
            {t('submit')}
          </Button>
        </div>
      )}
    </form>
  )
}

/** An owner decides whether deletions may change texts of others in the graph: that cannot be undone. */
export function NamesForm({ project: { id, allows_redaction: allows } }: { project: Project }) {
  const t = useTranslations('projects.settings.names')
  const [isAllowed, setAllowed] = useState(allows)
  const edit = useApiMutation(editProjectAt, { touches: projectPaths })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    edit.begin({ params: { projectId: id }, body: { allows_redaction: isAllowed } })
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-3">
      {edit.problem && <ProblemAlert problem={edit.problem} />}
      {edit.isSuccess && <Alert tone="done" title={t('saved')} isLive />}
      <Checkbox
        label={t('allow')}
        hint={t('hint')}
        checked={isAllowed}
        onChange={({ target }) => setAllowed(target.checked)}
      />
      <Button type="submit" tone="plain" aria-disabled={edit.isPending} className="justify-self-start">
        {t('submit')}
      </Button>
    </form>
  )
}
