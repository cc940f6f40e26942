import { inject } from 'vitest'
import { z } from 'zod'

const Started = z.object({ url: z.string().optional(), endpoint: z.string().optional(), port: z.number() })

async function ask(name: string): Promise<z.output<typeof Started>> {
  const response = await fetch(`${inject('services')}/${name}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return Started.parse(JSON.parse(text))
}

/** The Neo4j of this run, shared by all suites: each keeps to group ids of its own. Gives what KP_GRAPH_URL takes. */
export const neo4jServer = async (): Promise<{ url: string; port: number }> => {
  const { url = '', port } = await ask('neo4j')
  return { url, port }
}

/** The S3 server of this run, shared: each suite makes a bucket of its own and chooses whether it keeps versions. */
export const s3Server = async (): Promise<{ endpoint: string; port: number }> => {
  const { endpoint = '', port } = await ask('s3')
  return { endpoint, port }
}

/** The Google Cloud Storage server of this run, shared likewise. */
export const gcsServer = async (): Promise<{ endpoint: string; port: number }> => {
  const { endpoint = '', port } = await ask('gcs')
  return { endpoint, port }
}
