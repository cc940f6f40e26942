import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ErasureList } from '#components/erasures/erasure-list.tsx'
import { stateNamed } from '#components/erasures/places.ts'
import { Words } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('erasures'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ErasuresPage({ searchParams }: Props) {
  await opened('erasures')
  const asked = (await searchParams).state
  const state = stateNamed(typeof asked === 'string' ? asked : undefined)
  const initial = await ask(app.requests.listErasures, { query: { ...(state && { state }), limit: '50' } })
  return (
    <Words of={['erasures']}>
      <ErasureList initial={initial} state={state} />
    </Words>
  )
}
