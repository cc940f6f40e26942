import { inject } from 'vitest'
import { z } from 'zod'

const Started = z.object({ url: z.string().optional(), endpoint: z.string().optional(), port: z.number() })

async function ask(name: string): Promise<z.output<typeof Started>> {
  const response = await fetch(`${inject('services')}/${name}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return Started.parse(JSON.parse(text))
}

/** The Neo4j of this test run, shared by all suites: each uses its own group ids. Returns the value of KP_GRAPH_URL. */
export const neo4jServer = async (): Promise<{ url: string; port: number }> => {
  const { url = '', port } = await ask('neo4j')
  return { url, port }
}

/** The S3 server of this test run, shared: each suite creates its own bucket, with or without versioning. */
export const s3Server = async (): Promise<{ endpoint: string; port: number }> => {
  const { endpoint = '', port } = await ask('s3')
  return { endpoint, port }
}

/** The Google Cloud Storage server of this test run, shared in the same way. */
export const gcsServer = async (): Promise<{ endpoint: string; port: number }> => {
  const { endpoint = '', port } = await ask('gcs')
  return { endpoint, port }
}
