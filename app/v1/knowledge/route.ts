import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.search.list)
export const POST = route(app.knowledge.contribute)
