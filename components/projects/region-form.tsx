'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { RegionSelect } from '#components/ui/region-select.tsx'
import { editProjectAt, type Project, projectPaths } from './endpoints.ts'

/** Where the data of the project may be stored: in one region, or in any region of this installation. */
export function RegionForm({ project: { id, region }, regions }: { project: Project; regions: readonly string[] }) {
  const t = useTranslations('projects.settings.region')
  const create = useTranslations('projects.create')
  const [chosen, setChosen] = useState<string>(region ?? '')
  const edit = useApiMutation(editProjectAt, { touches: projectPaths })
  const { problem } = edit
  const submit = (event: FormEvent) => {
    event.preventDefault()
    edit.begin({ params: { projectId: id }, body: { region: chosen === '' ? null : chosen } })
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-3">
      {problem?.code === 'conflict' ? (
        <Alert tone="danger" title={t('refused', { message: problem.detail ?? problem.title })} isLive />
      ) : (
        problem && <ProblemAlert problem={problem} />
      )}
      {edit.isSuccess && <Alert tone="done" title={t('saved')} isLive />}
      <RegionSelect
        label={create('region')}
        hint={t('hint')}
        value={chosen}
        regions={regions}
        present={region}
        onChange={setChosen}
      />
      <Button type="submit" tone="plain" aria-disabled={edit.isPending} className="justify-self-start">
        {t('submit')}
      </Button>
    </form>
  )
}
