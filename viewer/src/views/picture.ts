// The drawn network: agents in discs of communities, follows between discs as bands; colors follow the slider.
import Graph from "graphology";
import Sigma from "sigma";
import { NodePointProgram } from "sigma/rendering";
import type { Network } from "../api";
import type { Colors } from "../theme";
import type { Disc, Places } from "./places";

const MOST_BANDS = 160;
const WIDEST = 14; // pixels
const NAMED = 15; // pixels: radius of a disc from which its number is written

interface Node {
  x: number;
  y: number;
  size: number;
  color: string;
  label: string;
  hidden: boolean;
  highlighted: boolean;
  zIndex: number;
}

// Follows between two discs, both ways together, and those of them that join opposite sides.
export interface Band {
  from: number;
  to: number;
  all: number;
  across: number;
}

export interface Look {
  color: (row: number) => string;
  step: number;
  chosen: number | null;
  around: ReadonlySet<number>;
  bands: Band[];
  moved: number[] | null;
  colors: Colors;
}

export class Picture {
  private readonly graph = new Graph<Node>({ multi: true, type: "directed" });
  private readonly drawn: Sigma<Node>;
  private readonly row = new Map<number, number>();
  private readonly under: CanvasRenderingContext2D | undefined;
  private readonly room: number; // pixels: radius that each agent has in the picture
  private look: Look | null = null;

  constructor(
    box: HTMLElement,
    private readonly network: Network,
    private readonly places: Places,
    private readonly names: string[],
    onPick: (agent: number) => void,
  ) {
    this.room = Math.sqrt((box.clientWidth * box.clientHeight * 0.5) / Math.PI / Math.max(network.agent.length, 1));
    const sizes = this.sizes(null);
    network.agent.forEach((agent, row) => {
      this.row.set(agent, row);
      const position = { x: places.x[row] ?? 0, y: places.y[row] ?? 0 };
      this.graph.addNode(row, { ...position, size: sizes[row] ?? 1, label: network.who[row] ?? "", color: "#999999", hidden: false, highlighted: false, zIndex: 0 });
    });
    this.drawn = new Sigma<Node>(this.graph, box, {
      allowInvalidContainer: true,
      // Points, not instances of a shape: where a browser draws by software, each instance costs a call of its own.
      nodeProgramClasses: { circle: NodePointProgram },
      hideEdgesOnMove: true,
      labelRenderedSizeThreshold: 11,
      labelDensity: 0.6,
      zIndex: true,
      minEdgeThickness: 0.5,
      stagePadding: 22,
    });
    const sides = (of: (disc: Disc) => number): [number, number] => [
      Math.min(...places.discs.map((disc) => of(disc) - disc.radius)),
      Math.max(...places.discs.map((disc) => of(disc) + disc.radius)),
    ];
    if (places.discs.length) this.drawn.setCustomBBox({ x: sides((disc) => disc.x), y: sides((disc) => disc.y) });
    this.drawn.createCanvasContext("discs");
    const { discs } = this.drawn.getCanvases();
    if (discs) box.prepend(discs); // below all that sigma draws
    this.under = discs?.getContext("2d") ?? undefined;
    this.drawn.resize(true);
    this.drawn.on("afterRender", () => this.underlay());
    this.drawn.on("enterNode", () => (box.style.cursor = "pointer"));
    this.drawn.on("leaveNode", () => (box.style.cursor = ""));
    this.drawn.on("clickNode", ({ node }) => onPick(network.agent[Number(node)] ?? 0));
  }

  show(look: Look): void {
    const old = this.look;
    if (old?.colors !== look.colors) this.paint(look.colors);
    // Another step changes colors only: then sigma need not index places, edges and labels anew.
    const resized = (old?.moved ?? null) !== look.moved;
    const colorsOnly = !resized && old?.colors === look.colors && old.chosen === look.chosen && old.around === look.around;
    this.look = look;
    if (!colorsOnly) this.connect(look);
    if (resized) {
      const sizes = this.sizes(look.moved);
      this.graph.updateEachNodeAttributes((node, known) => ({ ...known, size: sizes[Number(node)] ?? 1 }), { attributes: ["size"] });
    }
    const attributes: (keyof Node)[] = colorsOnly ? ["color", "hidden"] : ["color", "hidden", "highlighted", "zIndex"];
    this.graph.updateEachNodeAttributes((node, known) => this.dress(Number(node), known, look), { attributes });
    if (!colorsOnly) this.drawn.refresh();
  }

  // By the square root, so that the area tells the number.
  private sizes(moved: number[] | null): number[] {
    const { agent, followers } = this.network;
    const values = moved ? agent.map((id) => moved[id] ?? 0) : followers;
    const most = values.reduce((a, b) => Math.max(a, b), moved ? 1e-12 : 1);
    const base = Math.min(Math.max(this.room * 0.5, 1.1), 4);
    return values.map((value) => base + 7 * Math.sqrt(value / most));
  }

  private paint(colors: Colors): void {
    this.drawn.setSetting("labelColor", { color: colors.ink });
    this.drawn.setSetting("defaultDrawNodeHover", (context, data) => hover(context, data, colors));
  }

  private dress(row: number, node: Node, look: Look): Node {
    const agent = this.network.agent[row] ?? 0;
    const near = agent === look.chosen || look.around.has(agent);
    node.color = look.chosen !== null && !near ? look.colors.line : look.color(row);
    node.hidden = (this.network.born[row] ?? 0) > look.step;
    node.highlighted = agent === look.chosen;
    node.zIndex = near ? 1 : 0;
    return node;
  }

  // Single follows are those of a chosen agent; all others are in bands.
  private connect(look: Look): void {
    this.graph.clearEdges();
    const from = look.chosen === null ? undefined : this.row.get(look.chosen);
    if (from === undefined) return;
    for (const agent of look.around) {
      const to = this.row.get(agent);
      if (to !== undefined) this.graph.addEdge(from, to, { color: look.colors.muted, size: 0.8 });
    }
  }

  // Bands, discs and their numbers, below the agents.
  private underlay(): void {
    const { under, look } = this;
    if (!under || !look) return;
    const { width, height } = this.drawn.getDimensions();
    under.clearRect(0, 0, width, height);
    const discs = this.places.discs.map(({ x, y, radius }) => {
      const [center, edge] = [this.drawn.graphToViewport({ x, y }), this.drawn.graphToViewport({ x: x + radius, y })];
      return { ...center, radius: Math.hypot(edge.x - center.x, edge.y - center.y) };
    });
    const shown = look.chosen === null ? look.bands.filter((band) => band.from !== band.to).slice(0, MOST_BANDS) : [];
    const most = Math.max(...shown.map((band) => band.all), 1);
    for (const [color, size] of [[look.colors.edge, "all"], [look.colors.across, "across"]] as const) {
      under.strokeStyle = color;
      for (const band of shown) {
        const [from, to] = [discs[band.from], discs[band.to]];
        if (!from || !to || !band[size]) continue;
        under.lineWidth = Math.max((WIDEST * band[size]) / most, 0.3);
        under.globalAlpha = 0.55;
        under.beginPath();
        under.moveTo(from.x, from.y);
        under.quadraticCurveTo((from.x + to.x) / 2 + (to.y - from.y) * 0.14, (from.y + to.y) / 2 - (to.x - from.x) * 0.14, to.x, to.y);
        under.stroke();
      }
    }
    under.globalAlpha = 1;
    const inside = new Map(look.bands.filter((band) => band.from === band.to).map((band) => [band.from, band]));
    under.font = "600 12px system-ui, sans-serif";
    under.textAlign = "center";
    discs.forEach((disc, nth) => {
      const ring = (color: string, share: number): void => {
        under.strokeStyle = color;
        under.beginPath();
        under.arc(disc.x, disc.y, disc.radius + 2, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share);
        under.stroke();
      };
      under.fillStyle = look.colors.paper;
      under.beginPath();
      under.arc(disc.x, disc.y, disc.radius + 2, 0, 2 * Math.PI);
      under.fill();
      under.lineWidth = 1.5;
      ring(look.colors.edge, 1);
      under.lineWidth = 3;
      const own = inside.get(nth);
      if (own?.across && look.chosen === null) ring(look.colors.across, own.across / own.all);
    });
    under.fillStyle = look.colors.ink;
    under.strokeStyle = look.colors.soft;
    discs.forEach((disc, nth) => {
      if (disc.radius < NAMED) return;
      const name: [string, number, number] = [this.names[nth] ?? "", disc.x, disc.y - disc.radius - 6];
      under.strokeText(...name);
      under.fillText(...name);
    });
  }

  zoom(by: number): void {
    const camera = this.drawn.getCamera();
    void camera.animate({ ratio: camera.ratio * by }, { duration: 150 });
  }

  reset(): void {
    void this.drawn.getCamera().animatedReset({ duration: 150 });
  }

  close(): void {
    this.drawn.kill();
  }
}

// The name beside a node, on paper of the scheme; drawn, so that a name cannot be markup.
function hover(
  context: CanvasRenderingContext2D,
  data: { x: number; y: number; size: number; label: string | null; color: string },
  colors: Colors,
): void {
  context.font = "13px system-ui, sans-serif";
  const label = (data.label ?? "").slice(0, 60);
  const width = context.measureText(label).width;
  context.fillStyle = colors.paper;
  context.strokeStyle = colors.line;
  context.beginPath();
  context.roundRect(data.x - data.size - 3, data.y - 11, data.size * 2 + width + 16, 22, 6);
  context.fill();
  context.stroke();
  context.fillStyle = data.color;
  context.beginPath();
  context.arc(data.x, data.y, data.size, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = colors.ink;
  context.fillText(label, data.x + data.size + 6, data.y + 4.5);
}
