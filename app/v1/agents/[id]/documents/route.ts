import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.agents.listDocuments)
export const POST = route(app.agents.addDocument)
