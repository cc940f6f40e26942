'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { type RunningUpload, useDocumentUpload } from './document-upload.ts'
import { useSizes } from './sizes.ts'

const kinds = ['document', 'artifact'] as const

/** Why a file cannot be uploaded; an empty text if it can. */
function useFileFault(most: number): (file: File | undefined) => string {
  const t = useTranslations('projects.documents.upload')
  const size = useSizes()
  return (file) => {
    if (!file) return t('none')
    if (file.size === 0) return t('empty')
    return file.size > most ? t('tooLarge', { size: size(file.size), most: size(most) }) : ''
  }
}

function UploadProgress({ running: { name, sent, size } }: { running: RunningUpload }) {
  const t = useTranslations('projects.documents.upload')
  const percent = size > 0 ? Math.floor((sent / size) * 100) : 0
  const label = t('progress', { name, percent })
  return (
    <div className="grid gap-2">
      <p role="status">{percent >= 100 ? t('storing', { name }) : label}</p>
      <ProgressBar value={sent} max={size} label={label} />
    </div>
  )
}

interface UploadFormProps {
  projectId: string
  /** Largest upload, in bytes. */
  most: number
  types: readonly string[]
}
/** Uploads a file with progress and a stop button. */
export function UploadForm({ projectId, most, types }: UploadFormProps) {
  const t = useTranslations('projects.documents.upload')
  const names = useTranslations('projects.documents.kinds')
  const size = useSizes()
  const form = useRef<HTMLFormElement>(null)
  const [file, setFile] = useState<File>()
  const [fault, setFault] = useState('')
  const faultOf = useFileFault(most)
  const { running, problem, outcome, send, reset } = useDocumentUpload(projectId, types)

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (running) return
    reset()
    const found = faultOf(file)
    setFault(found)
    if (found !== '' || !file) return
    void send(file, String(new FormData(event.currentTarget).get('kind')), () => {
      form.current?.reset()
      setFile(undefined)
    })
  }
  return (
    <form
      ref={form}
      method="post"
      onSubmit={submit}
      data-form="upload"
      className="grid max-w-[45rem] gap-4 rounded-box border border-line bg-raised p-4"
    >
      <p className="text-quiet">{t('lead', { most: size(most) })}</p>
      {problem && <ProblemAlert problem={problem} />}
      {outcome && <Alert tone={outcome.tone} title={outcome.title} isLive />}
      <div className="grid gap-4 sm:grid-cols-[1fr_12rem]">
        <Field
          type="file"
          label={t('file')}
          hint={file && t('chosen', { name: file.name, size: size(file.size) })}
          name="file"
          error={fault || undefined}
          onChange={({ target }) => {
            setFile(target.files?.[0])
            setFault('')
          }}
          className="file:mr-3 file:rounded-small file:border-0 file:bg-sunken file:px-2 file:py-1 file:text-ink"
        />
        <Select
          label={t('kind')}
          name="kind"
          defaultValue="document"
          options={kinds.map((value) => ({ value, title: names(value) }))}
        />
      </div>
      {running && <UploadProgress running={running} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" aria-disabled={running !== undefined}>
          {t('submit')}
        </Button>
        {running && (
          <Button tone="plain" onClick={running.stop}>
            {t('cancel')}
          </Button>
        )}
      </div>
    </form>
  )
}
