import { app, route } from '#lib/app.ts'

export const GET = route(app.search.list)
export const POST = route(app.knowledge.contribute)
