'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { type ProblemDocument, RequestRefused } from '#lib/client/request.ts'
import { projectPaths } from './endpoints.ts'
import { useSizes } from './sizes.ts'
import { mediaTypeOf, upload } from './uploading.ts'

const kinds = ['document', 'artifact'] as const
interface Going {
  name: string
  sent: number
  size: number
  stop: () => void
}
interface UploadFormProps {
  projectId: string
  /** Largest upload, in bytes. */
  most: number
  types: readonly string[]
}

/** Uploads a file with progress and a stop button. A stopped or refused upload stores nothing. */
export function UploadForm({ projectId, most, types }: UploadFormProps) {
  const t = useTranslations('projects.documents.upload')
  const names = useTranslations('projects.documents.kinds')
  const size = useSizes()
  const client = useQueryClient()
  const router = useRouter()
  const form = useRef<HTMLFormElement>(null)
  const [file, setFile] = useState<File>()
  const [fault, setFault] = useState('')
  const [going, setGoing] = useState<Going>()
  const [problem, setProblem] = useState<ProblemDocument>()
  const [told, setTold] = useState<{ tone: 'done' | 'info'; title: string }>()
  // One intent, one idempotency key: a retry after a lost response uses the same key.
  const intent = useRef<{ of: string; key: string }>(undefined)
  const isGoing = going !== undefined
  useEffect(() => {
    if (!isGoing) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [isGoing])

  const faultOf = (chosen: File | undefined): string => {
    if (!chosen) return t('none')
    if (chosen.size === 0) return t('empty')
    return chosen.size > most ? t('tooLarge', { size: size(chosen.size), most: size(most) }) : ''
  }
  const send = async (chosen: File, kind: string) => {
    const query = new URLSearchParams({ name: chosen.name, kind })
    const of = JSON.stringify([chosen.name, chosen.size, chosen.lastModified, kind])
    if (intent.current?.of !== of) intent.current = { of, key: crypto.randomUUID() }
    const stopping = new AbortController()
    const { name, size: whole } = chosen
    setGoing({ name, sent: 0, size: whole, stop: () => stopping.abort() })
    try {
      await upload(
        `/api/projects/${encodeURIComponent(projectId)}/documents?${query}`,
        chosen,
        mediaTypeOf(chosen, types),
        intent.current.key,
        {
          signal: stopping.signal,
          sent: (sent) => setGoing((before) => before && { ...before, sent: Math.min(sent, whole) }),
        },
      )
      intent.current = undefined
      form.current?.reset()
      setFile(undefined)
      setTold({ tone: 'done', title: t('done', { name }) })
      await client.invalidateQueries({
        predicate: ({ queryKey: [path] }) => typeof path === 'string' && path.startsWith(projectPaths[0] ?? ''),
      })
      router.refresh()
    } catch (error) {
      if (stopping.signal.aborted) setTold({ tone: 'info', title: t('stopped', { name }) })
      else if (error instanceof RequestRefused) {
        if (error.problem.code !== 'unreachable' && error.problem.code !== 'idempotency_in_progress')
          intent.current = undefined
        setProblem(error.problem)
      } else throw error
    } finally {
      setGoing(undefined)
    }
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isGoing) return
    setTold(undefined)
    setProblem(undefined)
    const found = faultOf(file)
    setFault(found)
    if (found === '' && file) void send(file, String(new FormData(event.currentTarget).get('kind')))
  }
  const percent = going && going.size > 0 ? Math.floor((going.sent / going.size) * 100) : 0
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
      {told && <Alert tone={told.tone} title={told.title} isLive />}
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
      {going && (
        <div className="grid gap-2">
          <p role="status">
            {percent >= 100 ? t('storing', { name: going.name }) : t('progress', { name: going.name, percent })}
          </p>
          <ProgressBar value={going.sent} max={going.size} label={t('progress', { name: going.name, percent })} />
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" aria-disabled={isGoing}>
          {t('submit')}
        </Button>
        {going && (
          <Button tone="plain" onClick={going.stop}>
            {t('cancel')}
          </Button>
        )}
      </div>
    </form>
  )
}
