import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** What reaches malloc from Java: the compilers and collectors themselves, zlib, direct buffers, threads. */
public class Work {
    record Entry(int number, String text) {}

    static long crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return crc.getValue();
    }

    static byte[] packed(byte[] bytes) {
        Deflater deflater = new Deflater();
        deflater.setInput(bytes);
        deflater.finish();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[4096];
        while (!deflater.finished()) {
            out.write(buffer, 0, deflater.deflate(buffer));
        }
        deflater.end();
        return out.toByteArray();
    }

    static long work(int seed) throws Exception {
        Map<String, List<Entry>> map = new HashMap<>();
        int state = seed;
        for (int step = 0; step < 100000; step++) {
            state = (state * 1103515245 + 12345) & 0x7fffffff;
            map.computeIfAbsent("key" + state % 1009, key -> new ArrayList<>()).add(new Entry(state, "x" + step));
        }
        String text = map.entrySet().stream().sorted(Map.Entry.comparingByKey())
            .map(entry -> entry.getKey() + entry.getValue().get(entry.getValue().size() - 1))
            .collect(Collectors.joining(","));
        byte[] bytes = text.getBytes("UTF-8");
        long sum = crc(bytes);
        for (int round = 0; round < 20; round++) {
            byte[] small = packed(bytes);
            Inflater inflater = new Inflater();
            inflater.setInput(small);
            byte[] back = new byte[bytes.length];
            inflater.inflate(back);
            inflater.end();
            ByteBuffer direct = ByteBuffer.allocateDirect(100000 + 17 * round);
            direct.put(back, 0, Math.min(back.length, direct.capacity()));
            sum = sum * 31 + crc(small) + direct.position();
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        boolean loaded = Files.readAllLines(Path.of("/proc/self/maps")).stream().anyMatch(line -> line.contains("libhakmem"));
        Files.writeString(Path.of("inside"), loaded + "\n");
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (int seed = 1; seed <= 8; seed++) {
            int own = seed;
            results.add(pool.submit(() -> work(own)));
        }
        for (Future<Long> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
        for (int round = 0; round < 500; round++) {
            Thread brief = new Thread(() -> packed(new byte[3000]));
            brief.start();
            brief.join();
        }
        System.out.println(IntStream.range(0, 2000000).parallel().mapToObj(n -> "n" + n % 777).distinct().count());
        System.gc();
        System.out.println("done");
    }
}
